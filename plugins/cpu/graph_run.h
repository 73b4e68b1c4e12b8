// Running graphs: a plan per graph (which kernel, on how many members, where to wait), kept by uid.
#pragma once

#include <cstdint>
#include <vector>

#include "plugins/cpu/kernel.h"
#include "plugins/cpu/team.h"

namespace tenon::cpu {

// Consecutive nodes between two barriers: either one node for several members, or a run of small
// nodes that member 0 computes alone.
struct Group {
    uint32_t begin, end;  // steps
    int32_t members;      // that compute it
};

struct Step {
    uint32_t node;  // index in the graph
    const Kernel* kernel;
};

// Everything about a graph that follows from topology, shapes, types and parameters.
struct Plan {
    uint64_t uid = 0;  // 0: not for a second run
    uint32_t n_nodes = 0, n_threads = 0;
    uint64_t workspace_size = 0;
    uint64_t last_use = 0;
    bool alone = true;  // not worth waking anybody
    std::vector<Step> steps;
    std::vector<Group> groups;
};

// Runs the graphs of one stream. One caller at a time.
class GraphRunner {
public:
    // `always_team`: every node on all members, however small; for tests of kernels.
    GraphRunner(const tenon_host* host, const tenon_ext_host_threads* threads,
                bool always_team = false)
        : host_(host), threads_(threads), always_team_(always_team) {}

    tenon_status run(const tenon_graph_view& graph, const tenon_run_params& params,
                     tenon_error* error);

private:
    // The plan to use: an earlier one with this uid, or one made anew in the storage used longest
    // ago; graphs without uid have storage of their own. NULL: *error says why the graph cannot
    // run.
    const Plan* plan_for(const tenon_graph_view& graph, const tenon_run_params& params,
                         tenon_error* error);
    tenon_status make_plan(Plan& plan, const tenon_graph_view& graph,
                           const tenon_run_params& params, tenon_error* error);

    static constexpr int kPlans = 16;
    const tenon_host* host_;
    const tenon_ext_host_threads* threads_;
    bool always_team_;
    Plan plans_[kPlans];
    Plan unnamed_;  // graphs without uid
    uint64_t clock_ = 0;
};

}  // namespace tenon::cpu
