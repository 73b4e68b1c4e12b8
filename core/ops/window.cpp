// WIN_PART WIN_UNPART GET_REL_POS ADD_REL_POS, of vision transformers: builders and rules.
#include <algorithm>

#include "core/base/bits.h"
#include "core/ops/build.h"
#include "core/ops/checks.h"
#include "core/ops/shape_rules.h"

namespace tenon {

// [c, w, h] -> [c, window, window, windows]
Result<NodeShape> win_part_shape(const OpCall& call) {
    const auto p = call.params_as<tenon_win_part_params>();
    Checks check(call);
    check.dims_at_most(0, 3).f32({0}).at_least("window", p.window, 1);
    if (!check) return check.error();
    const int64_t x = ceil_div(call.src[0]->ne[1], p.window);
    const int64_t y = ceil_div(call.src[0]->ne[2], p.window);
    return check
        .require(p.n_windows_x == x && p.n_windows_y == y,
                 "%d x %d windows of %d cover src0, which takes %lld x %lld", p.n_windows_x,
                 p.n_windows_y, p.window, (long long)x, (long long)y)
        .result(GGML_TYPE_F32,
                {call.src[0]->ne[0], p.window, p.window, int64_t{p.n_windows_x} * p.n_windows_y});
}

// [c, window, window, windows] -> [c, w, h], which are asked for.
Result<NodeShape> win_unpart_shape(const OpCall& call) {
    const int64_t window = call.params_as<tenon_win_unpart_params>().window;
    const int64_t w = call.asked->ne[1];
    const int64_t h = call.asked->ne[2];
    Checks check(call);
    check.f32({0}).at_least("window", window, 1).at_least("width", w, 0).at_least("height", h, 0);
    if (!check) return check.error();
    const ggml_tensor& a = *call.src[0];
    return check.extent(0, 1, window)
        .extent(0, 2, window)
        .extent(0, 3, times(ceil_div(w, window), ceil_div(h, window)))
        .result(GGML_TYPE_F32, {a.ne[0], w, h});
}

// [c, 2n-1] -> f16 [c, kh, qh], which are asked for and both n.
Result<NodeShape> get_rel_pos_shape(const OpCall& call) {
    const int64_t kh = call.asked->ne[1];
    const int64_t qh = call.asked->ne[2];
    return Checks(call)
        .require(qh == kh, "qh is %lld, kh is %lld", (long long)qh, (long long)kh)
        .extent(0, 1, 2 * std::max(qh, kh) - 1)
        .result(GGML_TYPE_F16, {call.src[0]->ne[0], kh, qh});
}

// a: [n*n, q, b], pw, ph: [n, qw, qh, b] with qw*qh = q
Result<NodeShape> add_rel_pos_shape(const OpCall& call) {
    const ggml_tensor& pw = *call.src[1];
    return Checks(call)
        .same_shape(1, 2)
        .contiguous({0, 1, 2})
        .f32({1, 2})
        .dims_at_most(0, 3)
        .same_extent(1, 3, 0, 2)
        .extent(0, 0, times(pw.ne[0], pw.ne[0]))
        .extent(0, 1, times(pw.ne[1], pw.ne[2]))
        .like(0);
}

namespace {

ggml_tensor* build_add_rel_pos(ggml_context* ctx, ggml_tensor* a, ggml_tensor* pw, ggml_tensor* ph,
                               bool inplace) {
    return build(ctx, GGML_OP_ADD_REL_POS, {a, pw, ph}, tenon_add_rel_pos_params{inplace ? 1 : 0},
                 in_place_if(inplace));
}

// How many windows cover n elements; 0 for sizes that make no sense, which the rule rejects.
int32_t windows_over(int64_t n, int window) {
    if (window < 1) return 0;
    const int64_t count = ceil_div(n, window);
    return count <= INT32_MAX ? static_cast<int32_t>(count) : 0;
}

}  // namespace
}  // namespace tenon

using namespace tenon;

extern "C" {

ggml_tensor* ggml_win_part(ggml_context* ctx, ggml_tensor* a, int w) {
    if (a == nullptr) return nullptr;
    const tenon_win_part_params params{windows_over(a->ne[1], w), windows_over(a->ne[2], w), w};
    return build(ctx, GGML_OP_WIN_PART, {a}, params);
}

ggml_tensor* ggml_win_unpart(ggml_context* ctx, ggml_tensor* a, int w0, int h0, int w) {
    const NodeShape asked = shape_4d(GGML_TYPE_F32, 1, w0, h0, 1);
    return build(ctx, GGML_OP_WIN_UNPART, {a}, tenon_win_unpart_params{w},
                 BuildOptions{.asked = &asked});
}

ggml_tensor* ggml_get_rel_pos(ggml_context* ctx, ggml_tensor* a, int qh, int kh) {
    const NodeShape asked = shape_4d(GGML_TYPE_F16, 1, kh, qh, 1);
    return build(ctx, GGML_OP_GET_REL_POS, {a}, BuildOptions{.asked = &asked});
}

ggml_tensor* ggml_add_rel_pos(ggml_context* ctx, ggml_tensor* a, ggml_tensor* pw, ggml_tensor* ph) {
    return build_add_rel_pos(ctx, a, pw, ph, /*inplace=*/false);
}
ggml_tensor* ggml_add_rel_pos_inplace(ggml_context* ctx, ggml_tensor* a, ggml_tensor* pw,
                                      ggml_tensor* ph) {
    return build_add_rel_pos(ctx, a, pw, ph, /*inplace=*/true);
}

}  // extern "C"
