// Running graphs: a plan per graph (which kernel, on how many members, where to wait), kept by uid.
#pragma once

#include <cstdint>
#include <vector>

#include "plugins/cpu/fuse.h"
#include "plugins/cpu/team.h"
#include "tenon/ext/threads.h"
#include "tenon/kit/plan_cache.h"

namespace tenon::cpu {

// Consecutive nodes between two barriers: one node for several members, a run of small nodes that
// member 0 computes alone, or nodes that are computed together (fuse.h).
struct Group {
    uint32_t begin, end;  // steps
    int32_t members;      // that compute it
    int32_t fused = -1;   // in Plan::fused
};

// Runs that a plan serves.
struct PlanKey {
    uint64_t uid = 0;
    uint32_t n_nodes = 0, n_threads = 0;
    uint64_t workspace_size = 0;
    bool fusing = false;
    bool operator==(const PlanKey&) const = default;
};

// Everything about a graph that follows from topology, shapes, types and parameters.
struct Plan {
    bool alone = true;  // not worth waking anybody
    std::vector<Step> steps;
    std::vector<Group> groups;
    std::vector<FusedGroup> fused;
};

struct RunnerOptions {
    bool always_team = false;  // every node on all members and fused, however small; for tests
    bool fusion = true;        // nodes are computed together where they can be
};

// Runs the graphs of one stream. One caller at a time.
class GraphRunner {
public:
    GraphRunner(const tenon_host* host, const tenon_ext_host_threads* threads,
                RunnerOptions options = {})
        : host_(host), threads_(threads), options_(options) {}

    tenon_status run(const tenon_graph_view& graph, const tenon_run_params& params,
                     tenon_error* error);

private:
    bool fuses(const tenon_run_params& params) const {
        return options_.fusion && !(params.flags & TENON_RUN_REFERENCE);
    }
    // The plan to use, an earlier one or a new one. NULL: *error says why the graph cannot run.
    const Plan* plan_for(const tenon_graph_view& graph, const tenon_run_params& params,
                         tenon_error* error);
    tenon_status make_plan(Plan& plan, const tenon_graph_view& graph,
                           const tenon_run_params& params, tenon_error* error);
    tenon_status choose_steps(Plan& plan, const tenon_graph_view& graph,
                              const tenon_run_params& params, tenon_error* error);
    // The group that starts at a step.
    Group choose_group(Plan& plan, const tenon_graph_view& graph, uint32_t begin,
                       const tenon_run_params& params, int32_t n_threads, double& ns);

    const tenon_host* host_;
    const tenon_ext_host_threads* threads_;
    RunnerOptions options_;
    kit::PlanCache<PlanKey, Plan, 16> plans_;
    FusedGroup candidate_;  // while a plan is made
};

}  // namespace tenon::cpu
