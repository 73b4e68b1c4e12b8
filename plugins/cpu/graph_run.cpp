// Plans a graph once and runs it: nodes shared out over the team, barriers only where they are
// needed.

#include "plugins/cpu/graph_run.h"

#include <cstdio>

#include "tenon/kit/graph_reading.h"

namespace tenon::cpu {
namespace {

// A node below this is not worth the two barriers around it, at 0.1 to 0.4 us each. A graph that
// the team would save less than this is not worth calling it: a sleeping worker takes some 20 us to
// wake, a spinning one is not always there.
constexpr double kNodeAloneNs = 4000;
constexpr double kTeamSavesNs = 10000;

// One run of a graph, shared by all members. `stop` and `counters` change only while every member
// waits at the barrier between two groups.
struct Run {
    const tenon_graph_view& graph;
    const tenon_run_params& params;
    const Plan& plan;
    Barrier between_groups;
    Barrier inside_node;
    Shared shared;
    bool cancelled = false;  // written by member 0
    bool stop = false;
};

void clear_counters(Shared& shared) {
    for (auto& counter : shared.next) counter.store(0, std::memory_order_relaxed);
}

Task task_of(Run& run, int32_t ith, int32_t nth) {
    Task task;
    task.ith = ith;
    task.nth = nth;
    task.workspace = run.params.workspace;
    task.workspace_size = run.params.workspace_size;
    task.shared = &run.shared;
    task.team_barrier = &run.inside_node;
    task.reference = run.params.flags & TENON_RUN_REFERENCE;
    return task;
}

void run_step(Run& run, const Step& step, int32_t ith, int32_t nth) {
    Task task = task_of(run, ith, nth);
    task.node = step.node;
    step.kernel->run(task, *run.graph.nodes[step.node]);
}

// Nodes that are computed together, or where their memory does not allow it one after the other.
void run_together(Run& run, const Group& group, int32_t ith, int32_t nth) {
    const FusedGroup& fused = run.plan.fused[static_cast<size_t>(group.fused)];
    if (run_fused(fused, run.graph, task_of(run, ith, nth))) return;
    for (uint32_t s = group.begin; s < group.end; ++s) {
        run_step(run, run.plan.steps[s], ith, nth);
        run.inside_node.wait(nth, [&] { clear_counters(run.shared); });
    }
}

bool failed(const Run& run) { return run.shared.failed.load(std::memory_order_relaxed) != 0; }

void poll_cancel(Run& run) {
    if (run.params.should_cancel && run.params.should_cancel(run.params.cancel_arg)) {
        run.cancelled = true;
    }
}

// The nodes of a group that member 0 computes alone.
void run_alone(Run& run, const Group& group) {
    for (uint32_t s = group.begin; s < group.end; ++s) {
        clear_counters(run.shared);
        run_step(run, run.plan.steps[s], 0, 1);
        poll_cancel(run);
        if (failed(run) || run.cancelled) return;
    }
    clear_counters(run.shared);
}

void run_group(Run& run, const Group& group, int32_t ith, int32_t nth) {
    if (ith >= nth) return;
    if (group.fused < 0 && nth == 1) return run_alone(run, group);
    if (group.fused >= 0) {
        run_together(run, group, ith, nth);
    } else {
        run_step(run, run.plan.steps[group.begin], ith, nth);
    }
    if (ith == 0) poll_cancel(run);
}

void wait_between_groups(Run& run, int32_t members) {
    run.between_groups.wait(members, [&] {
        run.stop = failed(run) || run.cancelled;
        clear_counters(run.shared);
    });
}

// Arrives for a member whose thread ends inside a group, and stops the run. Only functions of the
// application do that: the nodes that call them have no barrier inside for others to wait at.
struct Departure {
    Run& run;
    const Group& group;
    const int32_t members;
    bool finished = false;
    ~Departure() {
        if (finished) return;
        Task task = task_of(run, 0, 1);
        task.node = run.plan.steps[group.begin].node;
        task.fail(TENON_E_INTERNAL, "the application's function ended its thread");
        wait_between_groups(run, members);
    }
};

void run_member(Run& run, int32_t member, int32_t members) {
    for (const Group& group : run.plan.groups) {
        Departure departure{run, group, members};
        run_group(run, group, member, std::min(group.members, members));
        departure.finished = true;
        wait_between_groups(run, members);
        if (run.stop) return;
    }
}

tenon_status node_error(const tenon_host* host, const ggml_tensor& node, tenon_status status,
                        const char* text, tenon_error* error) {
    char line[440];
    const int sub_op = node.op == GGML_OP_UNARY || node.op == GGML_OP_GLU ? node.op_params[0] : 0;
    const char* op = host->op_name ? host->op_name(host, node.op, sub_op) : "";
    std::snprintf(line, sizeof line, "node '%.100s' (%s): %s", node.name, op ? op : "", text);
    return tenon_fail(error, status, 0, nullptr, line);
}

}  // namespace

tenon_status GraphRunner::choose_steps(Plan& plan, const tenon_graph_view& graph,
                                       const tenon_run_params& params, tenon_error* error) {
    plan.steps.clear();
    for (uint32_t i = 0; i < graph.n_nodes; ++i) {
        const ggml_tensor& node = *graph.nodes[i];
        if (!kit::computes(node)) continue;
        Verdict why;
        const Kernel* kernel = find_kernel(node, &why);
        if (!kernel) return node_error(host_, node, TENON_E_UNSUPPORTED, why.detail, error);
        if (kernel->workspace && kernel->workspace(node, 1) > params.workspace_size)
            return node_error(host_, node, TENON_E_INVALID, "workspace is too small", error);
        plan.steps.push_back({i, kernel});
    }
    return TENON_OK;
}

namespace {

// Of `members`, those that a step has use and workspace for.
int32_t fitting_members(const Step& step, const tenon_graph_view& graph,
                        const tenon_run_params& params, int32_t members) {
    const ggml_tensor& node = *graph.nodes[step.node];
    if (step.kernel->members) members = std::min(members, step.kernel->members(node, members));
    if (!step.kernel->workspace) return members;
    while (members > 1 && step.kernel->workspace(node, members) > params.workspace_size) --members;
    return members;
}

}  // namespace

Group GraphRunner::choose_group(Plan& plan, const tenon_graph_view& graph, uint32_t begin,
                                const tenon_run_params& params, int32_t n_threads, double& ns) {
    Group group{begin, begin + 1, n_threads};
    const auto rest = std::span<const Step>(plan.steps).subspan(begin);
    if (fuses(params) && rest.size() > 1) {
        const uint32_t n = fuse(graph, rest, {n_threads, options_.always_team}, candidate_);
        if (n > 1) {
            group.end = begin + n;
            group.fused = static_cast<int32_t>(plan.fused.size());
            plan.fused.push_back(candidate_);
        }
    }
    ns = 0;
    for (const Step& step : rest.first(group.end - begin)) {
        ns += cost_ns(*step.kernel, *graph.nodes[step.node]);
        group.members = fitting_members(step, graph, params, group.members);
    }
    if (ns < kNodeAloneNs && !options_.always_team) group.members = 1;
    return group;
}

tenon_status GraphRunner::make_plan(Plan& plan, const tenon_graph_view& graph,
                                    const tenon_run_params& params, tenon_error* error) {
    plan.groups.clear();
    plan.fused.clear();
    if (const tenon_status status = choose_steps(plan, graph, params, error)) return status;
    const int32_t n_threads =
        params.team && threads_
            ? static_cast<int32_t>(std::clamp<uint32_t>(params.n_threads, 1, 1 << 15))
            : 1;
    double saved_ns = 0;  // by the other members
    for (uint32_t begin = 0; begin < plan.steps.size();) {
        double ns;
        const Group group = choose_group(plan, graph, begin, params, n_threads, ns);
        saved_ns += ns - ns / group.members;
        begin = group.end;
        const bool alone = group.members == 1 && group.fused < 0;
        if (alone && !plan.groups.empty() && plan.groups.back().members == 1 &&
            plan.groups.back().fused < 0) {
            plan.groups.back().end = group.end;
        } else {
            plan.groups.push_back(group);
        }
    }
    plan.alone = n_threads == 1 || (saved_ns < kTeamSavesNs && !options_.always_team);
    return TENON_OK;
}

const Plan* GraphRunner::plan_for(const tenon_graph_view& graph, const tenon_run_params& params,
                                  tenon_error* error) {
    const PlanKey key{graph.uid, graph.n_nodes, params.n_threads, params.workspace_size,
                      fuses(params)};
    return plans_.find_or_make(
        key, [&](Plan& plan) { return make_plan(plan, graph, params, error) == TENON_OK; });
}

tenon_status GraphRunner::run(const tenon_graph_view& graph, const tenon_run_params& params,
                              tenon_error* error) {
    const Plan* plan = plan_for(graph, params, error);
    if (!plan) return error && error->code ? error->code : TENON_E_UNSUPPORTED;

    Run run{graph, params, *plan, {}, {}, {}};
    if (plan->alone) {
        run_member(run, 0, 1);
    } else {
        const tenon_status status = threads_->team_run(
            params.team,
            [](void* arg, uint32_t member, uint32_t members) {
                run_member(*static_cast<Run*>(arg), static_cast<int32_t>(member),
                           static_cast<int32_t>(members));
            },
            &run);
        if (status != TENON_OK && !failed(run))
            return tenon_fail(error, status, 0, nullptr, "the worker team did not start");
    }
    if (const tenon_status status = run.shared.failed.load()) {
        char text[160];
        const Shared& s = run.shared;
        if (s.index_limit > 0) {
            std::snprintf(text, sizeof text, "%s: %lld, expected 0 to %lld", s.failure,
                          static_cast<long long>(s.bad_index),
                          static_cast<long long>(s.index_limit - 1));
        } else {
            std::snprintf(text, sizeof text, "%s", s.failure);
        }
        return node_error(host_, *graph.nodes[s.failed_node], status, text, error);
    }
    if (run.cancelled) return tenon_fail(error, TENON_E_CANCELLED, 0, nullptr, "run was cancelled");
    return TENON_OK;
}

}  // namespace tenon::cpu
