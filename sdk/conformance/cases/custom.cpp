// Cases: functions of the application. Each call computes the rows whose number is ith modulo nth.

#include "sdk/conformance/cases/helpers.h"

namespace tenon::conformance {
namespace {

// dst = (a [+ b [+ c]])*factor over f32 tensors of one shape, any strides.
void scaled_sum(ggml_tensor* dst, std::initializer_list<const ggml_tensor*> sources, int ith,
                int nth, const void* factor) {
    const int64_t n_rows = ggml_nrows(dst);
    const auto at = [](const ggml_tensor* t, int64_t i0, int64_t r) {
        const int64_t i1 = r % t->ne[1], i2 = r / t->ne[1] % t->ne[2], i3 = r / t->ne[1] / t->ne[2];
        return reinterpret_cast<float*>(static_cast<char*>(t->data) + i0 * t->nb[0] +
                                        i1 * t->nb[1] + i2 * t->nb[2] + i3 * t->nb[3]);
    };
    for (int64_t r = ith; r < n_rows; r += nth) {
        for (int64_t i0 = 0; i0 < dst->ne[0]; ++i0) {
            float sum = 0;
            for (const ggml_tensor* t : sources) sum += *at(t, i0, r);
            *at(dst, i0, r) = sum * *static_cast<const float*>(factor);
        }
    }
}

void map1(ggml_tensor* dst, const ggml_tensor* a, int ith, int nth, void* factor) {
    scaled_sum(dst, {a}, ith, nth, factor);
}
void map2(ggml_tensor* dst, const ggml_tensor* a, const ggml_tensor* b, int ith, int nth,
          void* factor) {
    scaled_sum(dst, {a, b}, ith, nth, factor);
}
void map3(ggml_tensor* dst, const ggml_tensor* a, const ggml_tensor* b, const ggml_tensor* c,
          int ith, int nth, void* factor) {
    scaled_sum(dst, {a, b, c}, ith, nth, factor);
}
void custom(ggml_tensor* dst, int ith, int nth, void* factor) {
    scaled_sum(dst, {dst->src[0], dst->src[1]}, ith, nth, factor);
}

float factor = 1.5f;

}  // namespace

void custom_cases(CaseList& list) {
    const Shape shape{33, 7, 3, 2};
    for (const int n_tasks : {GGML_N_TASKS_MAX, 1, 2}) {
        for (const bool inplace : {false, true}) {
            const auto add = [&](const char* op, auto build) {
                list.add({.op = op,
                          .params = params("n_tasks", n_tasks, "inplace", inplace),
                          .build = [=](GraphMaker& m) {
                              ggml_tensor* args[] = {m.f32(shape), m.inset(GGML_TYPE_F32, shape),
                                                     m.f32(shape)};
                              return build(m.ctx, args);
                          }});
            };
            add("MAP_CUSTOM1", [=](ggml_context* ctx, ggml_tensor** t) {
                return (inplace ? ggml_map_custom1_inplace : ggml_map_custom1)(ctx, t[0], map1,
                                                                               n_tasks, &factor);
            });
            add("MAP_CUSTOM2", [=](ggml_context* ctx, ggml_tensor** t) {
                return (inplace ? ggml_map_custom2_inplace : ggml_map_custom2)(
                    ctx, t[0], t[1], map2, n_tasks, &factor);
            });
            add("MAP_CUSTOM3", [=](ggml_context* ctx, ggml_tensor** t) {
                return (inplace ? ggml_map_custom3_inplace : ggml_map_custom3)(
                    ctx, t[0], t[1], t[2], map3, n_tasks, &factor);
            });
            add("CUSTOM", [=](ggml_context* ctx, ggml_tensor** t) {
                if (inplace) {
                    return ggml_custom_inplace(ctx, t[0], t + 1, 1, custom, n_tasks, &factor);
                }
                return ggml_custom_4d(ctx, GGML_TYPE_F32, shape[0], shape[1], shape[2], shape[3], t,
                                      2, custom, n_tasks, &factor);
            });
        }
    }
}

}  // namespace tenon::conformance
