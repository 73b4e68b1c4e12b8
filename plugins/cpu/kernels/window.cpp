// WIN_PART, WIN_UNPART: a picture cut into square windows and put together again. GET_REL_POS: a
// table of relative positions spread over pairs of positions. ADD_REL_POS: those added to scores.

#include "plugins/cpu/kernel.h"
#include "plugins/cpu/kernels/move.h"
#include "plugins/cpu/simd/simd.h"

namespace tenon::cpu {
namespace {

int64_t windows_over(int64_t n, int64_t window) { return (n + window - 1) / window; }

Verdict supports(const ggml_tensor&) { return yes(); }

void move_row(const ggml_tensor& node, char* dst, const char* src) {
    move_run(dst, node.nb[0], src, node.src[0]->nb[0], node.ne[0], type_size(node.type).bytes);
}

void clear_row(const ggml_tensor& node, char* dst) {
    const size_t bytes = type_size(node.type).bytes;
    for (int64_t i = 0; i < node.ne[0]; ++i, dst += node.nb[0]) std::memset(dst, 0, bytes);
}

// ---- WIN_PART ---------------------------------------------------------------------------------

// src0: [c, w, h] -> dst: [c, window, window, windows]
void run_part(const Task& task, const ggml_tensor& node) {
    const ggml_tensor& a = *node.src[0];
    const auto p = params_of<tenon_win_part_params>(node);
    for_each_row(task, node, [&](int64_t x, int64_t y, int64_t window) {
        const int64_t from_x = window % p.n_windows_x * p.window + x;
        const int64_t from_y = window / p.n_windows_x * p.window + y;
        char* dst = row<char>(node, x, y, window);
        if (from_x < a.ne[1] && from_y < a.ne[2]) {
            move_row(node, dst, row<const char>(a, from_x, from_y));
        } else {
            clear_row(node, dst);
        }
    });
}

// ---- WIN_UNPART -------------------------------------------------------------------------------

// src0: [c, window, window, windows] -> dst: [c, w, h]
void run_unpart(const Task& task, const ggml_tensor& node) {
    const ggml_tensor& a = *node.src[0];
    const int64_t window = params_of<tenon_win_unpart_params>(node).window;
    const int64_t n_windows_x = windows_over(node.ne[1], window);
    for_each_row(task, node, [&](int64_t x, int64_t y, int64_t) {
        move_row(node, row<char>(node, x, y),
                 row<const char>(a, x % window, y % window, y / window * n_windows_x + x / window));
    });
}

// ---- GET_REL_POS ------------------------------------------------------------------------------

// src0: [c, 2n-1] -> dst: [c, n, n]
Verdict supports_get(const ggml_tensor& node) {
    const ggml_tensor& a = *node.src[0];
    if (a.type != GGML_TYPE_F16) return no(TENON_REASON_TYPE, "src0 must be f16");
    return yes();
}

void run_get(const Task& task, const ggml_tensor& node) {
    for_each_row(task, node, [&](int64_t k, int64_t q, int64_t) {
        move_row(node, row<char>(node, k, q),
                 row<const char>(*node.src[0], node.ne[1] - 1 - k + q));
    });
}

// ---- ADD_REL_POS ------------------------------------------------------------------------------

// src0: [n*n, q, b], src1 and src2: [n, qw, qh, b] with qw*qh = q
Verdict supports_add(const ggml_tensor& node) {
    if (!is_float_type(node.type)) return no(TENON_REASON_TYPE, "src0 must be f32, f16 or bf16");
    if (!has_dense_rows(node)) return no(TENON_REASON_STRIDES, "dst rows are not dense");
    return yes();
}

void run_add(const Task& task, const ggml_tensor& node) {
    const ggml_tensor &a = *node.src[0], &pw = *node.src[1], &ph = *node.src[2];
    const int64_t n = pw.ne[0];
    with_float_type(node.type, [&]<class T>() {
        for_each_row(task, node, [&](int64_t q, int64_t b, int64_t) {
            const int64_t x = q % pw.ne[1], y = q / pw.ne[1];
            const float* across = row<const float>(pw, x, y, b);
            const float* down = row<const float>(ph, x, y, b);
            const T* src = row<const T>(a, q, b);
            T* dst = row<T>(node, q, b);
            for (int64_t k = 0; k < n; ++k, src += n, dst += n) {
                const simd::f32 added = simd::splat(down[k]);
                simd::map(dst, src, across, n,
                          [=](simd::f32 s, simd::f32 w) { return s + w + added; });
            }
        });
    });
}

}  // namespace

extern constinit const Kernel kWinPart{supports, run_part};
extern constinit const Kernel kWinUnpart{supports, run_unpart};
extern constinit const Kernel kGetRelPos{supports_get, run_get};
extern constinit const Kernel kAddRelPos{supports_add, run_add};

}  // namespace tenon::cpu
