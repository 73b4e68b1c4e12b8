// References: windows of pictures and relative positions.

#include "sdk/conformance/oracle.h"

namespace tenon::conformance {
namespace {

// a: [c, w, h] -> [c, window, window, windows]
void win_part(const ggml_tensor& node, Result& out) {
    const auto p = params_of<tenon_win_part_params>(node);
    const Values a = source(node, 0);
    for_each_index(out, [&](int64_t c, int64_t x, int64_t y, int64_t window) {
        const int64_t ix = window % p.n_windows_x * p.window + x;
        const int64_t iy = window / p.n_windows_x * p.window + y;
        out(c, x, y, window) = ix < a.ne[1] && iy < a.ne[2] ? a(c, ix, iy) : 0.0;
    });
}

// a: [c, window, window, windows] -> [c, w, h]
void win_unpart(const ggml_tensor& node, Result& out) {
    const int64_t w = params_of<tenon_win_unpart_params>(node).window;
    const Values a = source(node, 0);
    const int64_t n_windows_x = (out.ne[1] + w - 1) / w;
    for_each_index(out, [&](int64_t c, int64_t x, int64_t y, int64_t) {
        out(c, x, y) = a(c, x % w, y % w, y / w * n_windows_x + x / w);
    });
}

// a: [c, 2n-1] -> [c, n, n]
void get_rel_pos(const ggml_tensor& node, Result& out) {
    const Values a = source(node, 0);
    for_each_index(out, [&](int64_t c, int64_t k, int64_t q, int64_t) {
        out(c, k, q) = a(c, out.ne[1] - 1 - k + q);
    });
}

// a: [n*n, q, b], pw, ph: [n, qw, qh, b]
void add_rel_pos(const ggml_tensor& node, Result& out) {
    const Values a = source(node, 0), pw = source(node, 1), ph = source(node, 2);
    const int64_t n = pw.ne[0];
    for_each_index(out, [&](int64_t k, int64_t q, int64_t b, int64_t) {
        const int64_t qx = q % pw.ne[1], qy = q / pw.ne[1];
        out(k, q, b) = a(k, q, b) + pw(k % n, qx, qy, b) + ph(k / n, qx, qy, b);
    });
}

constexpr Reference kTable[] = {
    {GGML_OP_WIN_PART, win_part},
    {GGML_OP_WIN_UNPART, win_unpart},
    {GGML_OP_GET_REL_POS, get_rel_pos},
    {GGML_OP_ADD_REL_POS, add_rel_pos},
};

}  // namespace

const std::span<const Reference> kWindowReferences{kTable};

}  // namespace tenon::conformance
