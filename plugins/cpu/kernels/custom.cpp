// MAP_CUSTOM1 … CUSTOM: functions of the application, called once per member.

#include "plugins/cpu/kernel.h"
#include "tenon/forced_unwind.hpp"

namespace tenon::cpu {
namespace {

Verdict supports(const ggml_tensor&) { return yes(); }

int members(const ggml_tensor& node, int n_threads) {
    const int32_t n_tasks = params_of<tenon_custom_params>(node).n_tasks;
    return n_tasks == GGML_N_TASKS_MAX ? n_threads : std::min<int>(n_tasks, n_threads);
}

// Nobody knows; enough for every member that may take part to be woken.
// call(function, dst, userdata); dst as the application knows it, not const.
// An exception must not leave a worker thread: it ends the run with an error. The end of the thread
// must, and ends the run too (run_member() in graph_run.cpp).
template <class Function, class Call>
void with_function(const Task& task, const ggml_tensor& node, Call&& call) {
    const auto p = params_of<tenon_custom_params>(node);
    catch_all(
        [&] {
            call(reinterpret_cast<Function>(static_cast<uintptr_t>(p.fun)),
                 const_cast<ggml_tensor*>(&node),
                 reinterpret_cast<void*>(static_cast<uintptr_t>(p.userdata)));
        },
        [&](bool, const char*) {
            task.fail(TENON_E_INTERNAL, "the application's function threw an exception");
        });
}

void run_map1(const Task& task, const ggml_tensor& node) {
    with_function<ggml_custom1_op_t>(task, node, [&](auto* fn, ggml_tensor* dst, void* userdata) {
        fn(dst, node.src[0], task.ith, task.nth, userdata);
    });
}
void run_map2(const Task& task, const ggml_tensor& node) {
    with_function<ggml_custom2_op_t>(task, node, [&](auto* fn, ggml_tensor* dst, void* userdata) {
        fn(dst, node.src[0], node.src[1], task.ith, task.nth, userdata);
    });
}
void run_map3(const Task& task, const ggml_tensor& node) {
    with_function<ggml_custom3_op_t>(task, node, [&](auto* fn, ggml_tensor* dst, void* userdata) {
        fn(dst, node.src[0], node.src[1], node.src[2], task.ith, task.nth, userdata);
    });
}
void run_custom(const Task& task, const ggml_tensor& node) {
    with_function<ggml_custom_op_t>(task, node, [&](auto* fn, ggml_tensor* dst, void* userdata) {
        fn(dst, task.ith, task.nth, userdata);
    });
}

}  // namespace

extern constinit const Kernel kMapCustom1{supports, run_map1, nullptr, nullptr, members};
extern constinit const Kernel kMapCustom2{supports, run_map2, nullptr, nullptr, members};
extern constinit const Kernel kMapCustom3{supports, run_map3, nullptr, nullptr, members};
extern constinit const Kernel kCustom{supports, run_custom, nullptr, nullptr, members};

}  // namespace tenon::cpu
