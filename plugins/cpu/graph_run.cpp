// Plans a graph once and runs it: nodes shared out over the team, barriers only where they are
// needed.

#include "plugins/cpu/graph_run.h"

#include <cstdio>

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
    uint32_t failed_node = 0;  // valid once shared.failed is set
};

void clear_counters(Shared& shared) {
    for (auto& counter : shared.next) counter.store(0, std::memory_order_relaxed);
}

void run_step(Run& run, const Step& step, int32_t ith, int32_t nth) {
    Task task;
    task.ith = ith;
    task.nth = nth;
    task.workspace = run.params.workspace;
    task.workspace_size = run.params.workspace_size;
    task.shared = &run.shared;
    task.team_barrier = &run.inside_node;
    task.reference = run.params.flags & TENON_RUN_REFERENCE;
    step.kernel->run(task, *run.graph.nodes[step.node]);
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
        const Step& step = run.plan.steps[s];
        clear_counters(run.shared);
        run_step(run, step, 0, 1);
        poll_cancel(run);
        if (failed(run)) run.failed_node = step.node;
        if (failed(run) || run.cancelled) return;
    }
    clear_counters(run.shared);
}

void run_member(Run& run, int32_t member, int32_t members) {
    for (const Group& group : run.plan.groups) {
        const int32_t nth = group.members < members ? group.members : members;
        if (nth > 1) {
            if (member < nth) run_step(run, run.plan.steps[group.begin], member, nth);
            if (member == 0) poll_cancel(run);
        } else if (member == 0) {
            run_alone(run, group);
        }
        run.between_groups.wait(members, [&] {
            if (nth > 1 && failed(run)) run.failed_node = run.plan.steps[group.begin].node;
            run.stop = failed(run) || run.cancelled;
            clear_counters(run.shared);
        });
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

tenon_status GraphRunner::make_plan(Plan& plan, const tenon_graph_view& graph,
                                    const tenon_run_params& params, tenon_error* error) {
    plan.uid = 0;  // not found again until complete
    plan.steps.clear();
    plan.groups.clear();
    const int32_t n_threads = params.team && threads_ ? std::max<int32_t>(params.n_threads, 1) : 1;
    double saved_ns = 0;  // by the other members
    for (uint32_t i = 0; i < graph.n_nodes; ++i) {
        const ggml_tensor& node = *graph.nodes[i];
        if (tenon_is_view_op(node.op) || tenon_is_empty(&node)) continue;
        Verdict why;
        const Kernel* kernel = find_kernel(node, &why);
        if (!kernel) return node_error(host_, node, TENON_E_UNSUPPORTED, why.detail, error);

        const double ns = cost_ns(*kernel, node);
        int32_t members = ns < kNodeAloneNs && !always_team_ ? 1 : n_threads;
        if (kernel->members) members = std::min(members, kernel->members(node, members));
        if (kernel->workspace) {
            while (members > 1 && kernel->workspace(node, members) > params.workspace_size)
                --members;
            if (kernel->workspace(node, members) > params.workspace_size) {
                return node_error(host_, node, TENON_E_INVALID, "workspace is too small", error);
            }
        }
        saved_ns += ns - ns / members;
        const uint32_t step = static_cast<uint32_t>(plan.steps.size());
        plan.steps.push_back({i, kernel});
        if (members == 1 && !plan.groups.empty() && plan.groups.back().members == 1) {
            plan.groups.back().end = step + 1;
        } else {
            plan.groups.push_back({step, step + 1, members});
        }
    }
    plan.alone = saved_ns < kTeamSavesNs && !always_team_;
    plan.n_nodes = graph.n_nodes;
    plan.n_threads = params.n_threads;
    plan.workspace_size = params.workspace_size;
    plan.uid = graph.uid;
    return TENON_OK;
}

const Plan* GraphRunner::plan_for(const tenon_graph_view& graph, const tenon_run_params& params,
                                  tenon_error* error) {
    Plan* target = &unnamed_;
    if (graph.uid != 0) {
        target = &plans_[0];
        for (Plan& plan : plans_) {
            if (plan.uid == graph.uid && plan.n_nodes == graph.n_nodes &&
                plan.n_threads == params.n_threads &&
                plan.workspace_size == params.workspace_size) {
                plan.last_use = ++clock_;
                return &plan;
            }
            if (plan.last_use < target->last_use) target = &plan;
        }
        target->last_use = ++clock_;
    }
    return make_plan(*target, graph, params, error) == TENON_OK ? target : nullptr;
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
        if (status != TENON_OK)
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
        return node_error(host_, *graph.nodes[run.failed_node], status, text, error);
    }
    if (run.cancelled) return tenon_fail(error, TENON_E_CANCELLED, 0, nullptr, "run was cancelled");
    return TENON_OK;
}

}  // namespace tenon::cpu
