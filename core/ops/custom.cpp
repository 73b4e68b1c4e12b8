// MAP_CUSTOM1 … CUSTOM: functions of the application as nodes; builders and rules.
#include "core/ops/build.h"
#include "core/ops/checks.h"
#include "core/ops/shape_rules.h"

namespace tenon {
namespace {

Checks& function(Checks& check, const tenon_custom_params& p) {
    return check.require(p.fun != 0, "the function is NULL")
        .require(p.n_tasks == GGML_N_TASKS_MAX || p.n_tasks > 0,
                 "n_tasks is %d, must be above 0, or %d for all threads", p.n_tasks,
                 GGML_N_TASKS_MAX);
}

}  // namespace

Result<NodeShape> map_custom_shape(const OpCall& call) {
    Checks check(call);
    return function(check, call.params_as<tenon_custom_params>()).like(0);
}

// As asked for; in place, like src0.
Result<NodeShape> custom_shape(const OpCall& call) {
    Checks check(call);
    function(check, call.params_as<tenon_custom_params>());
    return call.asked != nullptr ? check.result(*call.asked) : check.like(0);
}

namespace {

template <class Function>
tenon_custom_params custom_params(Function* fun, int n_tasks, void* userdata) {
    return {.fun = reinterpret_cast<uintptr_t>(fun),
            .n_tasks = n_tasks,
            .reserved = 0,
            .userdata = reinterpret_cast<uintptr_t>(userdata)};
}

template <class Function>
ggml_tensor* build_map(ggml_context* ctx, ggml_op op, std::initializer_list<ggml_tensor*> sources,
                       Function* fun, int n_tasks, void* userdata, bool inplace) {
    return build(ctx, op, sources, custom_params(fun, n_tasks, userdata), in_place_if(inplace));
}

// CUSTOM with `first` (may be NULL) and then `args` as sources.
ggml_tensor* build_custom(ggml_context* ctx, ggml_tensor* first, ggml_tensor** args, int n_args,
                          ggml_custom_op_t fun, int n_tasks, void* userdata,
                          const BuildOptions& options) {
    ggml_tensor* sources[GGML_MAX_SRC] = {first};
    const int n_first = first != nullptr ? 1 : 0;
    const int most = GGML_MAX_SRC - 1 - n_first;
    if (n_args < 0 || n_args > most || (args == nullptr && n_args > 0)) {
        report(fail(TENON_E_INVALID, "CUSTOM: %d arguments at %p, must be 0 to %d", n_args,
                    static_cast<void*>(args), most));
        return nullptr;
    }
    for (int i = 0; i < n_args; i++) {
        if (args[i] == nullptr) return nullptr;
        sources[n_first + i] = args[i];
    }
    const tenon_custom_params params = custom_params(fun, n_tasks, userdata);
    return build_node(ctx, GGML_OP_CUSTOM, {sources, static_cast<size_t>(n_first + n_args)},
                      &params, sizeof params, options);
}

}  // namespace
}  // namespace tenon

using namespace tenon;

extern "C" {

ggml_tensor* ggml_map_custom1(ggml_context* ctx, ggml_tensor* a, ggml_custom1_op_t fun, int n_tasks,
                              void* userdata) {
    return build_map(ctx, GGML_OP_MAP_CUSTOM1, {a}, fun, n_tasks, userdata, /*inplace=*/false);
}
ggml_tensor* ggml_map_custom1_inplace(ggml_context* ctx, ggml_tensor* a, ggml_custom1_op_t fun,
                                      int n_tasks, void* userdata) {
    return build_map(ctx, GGML_OP_MAP_CUSTOM1, {a}, fun, n_tasks, userdata, /*inplace=*/true);
}
ggml_tensor* ggml_map_custom2(ggml_context* ctx, ggml_tensor* a, ggml_tensor* b,
                              ggml_custom2_op_t fun, int n_tasks, void* userdata) {
    return build_map(ctx, GGML_OP_MAP_CUSTOM2, {a, b}, fun, n_tasks, userdata, /*inplace=*/false);
}
ggml_tensor* ggml_map_custom2_inplace(ggml_context* ctx, ggml_tensor* a, ggml_tensor* b,
                                      ggml_custom2_op_t fun, int n_tasks, void* userdata) {
    return build_map(ctx, GGML_OP_MAP_CUSTOM2, {a, b}, fun, n_tasks, userdata, /*inplace=*/true);
}
ggml_tensor* ggml_map_custom3(ggml_context* ctx, ggml_tensor* a, ggml_tensor* b, ggml_tensor* c,
                              ggml_custom3_op_t fun, int n_tasks, void* userdata) {
    return build_map(ctx, GGML_OP_MAP_CUSTOM3, {a, b, c}, fun, n_tasks, userdata,
                     /*inplace=*/false);
}
ggml_tensor* ggml_map_custom3_inplace(ggml_context* ctx, ggml_tensor* a, ggml_tensor* b,
                                      ggml_tensor* c, ggml_custom3_op_t fun, int n_tasks,
                                      void* userdata) {
    return build_map(ctx, GGML_OP_MAP_CUSTOM3, {a, b, c}, fun, n_tasks, userdata,
                     /*inplace=*/true);
}

ggml_tensor* ggml_custom_4d(ggml_context* ctx, ggml_type type, int64_t ne0, int64_t ne1,
                            int64_t ne2, int64_t ne3, ggml_tensor** args, int n_args,
                            ggml_custom_op_t fun, int n_tasks, void* userdata) {
    const NodeShape asked = shape_4d(type, ne0, ne1, ne2, ne3);
    return build_custom(ctx, nullptr, args, n_args, fun, n_tasks, userdata,
                        BuildOptions{.asked = &asked});
}
ggml_tensor* ggml_custom_inplace(ggml_context* ctx, ggml_tensor* a, ggml_tensor** args, int n_args,
                                 ggml_custom_op_t fun, int n_tasks, void* userdata) {
    if (a == nullptr) return nullptr;
    return build_custom(ctx, a, args, n_args, fun, n_tasks, userdata, kInPlace);
}

}  // extern "C"
