// LIGHTNING_INDEXER: dst[j, t, 0, s] = sum over h of max(0, q[h, t, s] . k[j, s]) * weights[h, t,
// s]
// + mask[j, t, 0, s mod sm]. Bands of K are decoded into panels once for a range of tokens; nothing
// is rounded to fewer bits.

#include <algorithm>

#include "plugins/cpu/dot/panels.h"
#include "plugins/cpu/kernel.h"
#include "tenon/quant.h"

namespace tenon::cpu {
namespace {

using simd::f32;

constexpr int64_t kTokens = 64;  // that meet a band once it is packed

Verdict supports(const ggml_tensor& node) {
    const ggml_tensor &q = *node.src[0], &k = *node.src[1], &mask = *node.src[3];
    const quant::Format* format = quant::find_format(k.type);
    if (!is_float_type(k.type) && (!format || !format->to_float || type_size(k.type).block == 1)) {
        return no(TENON_REASON_TYPE, "k has a type that cannot be decoded");
    }
    if (!has_dense_rows(q) || !has_dense_rows(k) || !has_dense_rows(mask) ||
        !has_dense_rows(node)) {
        return no(TENON_REASON_STRIDES, "rows are not dense");
    }
    return yes();
}

// What one member works in: a band of K, a strip of heads of one token, and their scores.
struct Scratch {
    int64_t d;
    float *band, *strip, *scores;

    static int64_t strip_floats(int64_t d) { return (kStripCols * d + 15) / 16 * 16; }
    static size_t bytes(int64_t d) {
        const int64_t floats = kBandRows * d + strip_floats(d) + kBandRows * kStripCols;
        return static_cast<size_t>(floats) * sizeof(float);
    }
    Scratch(int64_t row_length, void* memory) : d(row_length) {
        band = static_cast<float*>(memory);
        strip = band + kBandRows * d;
        scores = strip + strip_floats(d);
    }
};

size_t workspace(const ggml_tensor& node, int n_threads) {
    return Scratch::bytes(node.src[0]->ne[0]) * static_cast<size_t>(n_threads);
}

// Positions [key, key + n) of sequence s, in the scratch.
struct Band {
    const ggml_tensor& node;
    int64_t s, key, n;
    const Scratch& scratch;

    void pack() const {
        const ggml_tensor& k = *node.src[1];
        for (int64_t k0 = 0; k0 < scratch.d; k0 += kDepth) {
            pack_band(k.type, row<const char>(k, 0, key, s), k.nb[2], n, k0,
                      std::min(kDepth, scratch.d - k0), scratch.band + kBandRows * k0);
        }
    }

    void multiply_strip(int64_t n_heads) const {
        float* dst[kStripCols];
        for (int64_t c = 0; c < n_heads; ++c) dst[c] = scratch.scores + c * kBandRows;
        for (int64_t k0 = 0; k0 < scratch.d || k0 == 0; k0 += kDepth) {
            multiply(scratch.band + kBandRows * k0, n, scratch.strip + k0 * kStripCols, n_heads,
                     std::min(kDepth, scratch.d - k0), dst, k0 > 0);
        }
    }

    void token(int64_t t) const {
        const ggml_tensor &q = *node.src[0], &weights = *node.src[2], &mask = *node.src[3];
        float* dst = row<float>(node, t, 0, s) + key;
        simd::convert(dst, row<const ggml_fp16_t>(mask, t, 0, s % mask.ne[3]) + key, n);
        for (int64_t head0 = 0; head0 < q.ne[1]; head0 += kStripCols) {
            const int64_t n_heads = std::min(kStripCols, q.ne[1] - head0);
            const float* rows[kStripCols];
            for (int64_t c = 0; c < n_heads; ++c) rows[c] = row<const float>(q, head0 + c, t, s);
            pack_strip(rows, n_heads, 0, scratch.d, scratch.strip);
            multiply_strip(n_heads);
            for (int64_t c = 0; c < n_heads; ++c) {
                const f32 w = simd::splat(*element<const float>(weights, head0 + c, t, 0, s));
                const f32 zero = simd::splat(0.0f);
                simd::map(dst, dst, scratch.scores + c * kBandRows, n,
                          [=](f32 sum, f32 x) { return simd::fma(simd::max(zero, x), w, sum); });
            }
        }
    }
};

void run(const Task& task, const ggml_tensor& node) {
    const int64_t d = node.src[0]->ne[0];
    const Scratch scratch(
        d, static_cast<char*>(task.workspace) + Scratch::bytes(d) * static_cast<size_t>(task.ith));
    const int64_t n_keys = node.ne[0], n_tokens = node.ne[1];
    const int64_t bands = (n_keys + kBandRows - 1) / kBandRows;
    const int64_t blocks = (n_tokens + kTokens - 1) / kTokens;
    for_each_chunk(task, bands * blocks * node.ne[3], 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
            const int64_t key = i % bands * kBandRows, t0 = i / bands % blocks * kTokens;
            const Band band{node, i / (bands * blocks), key, std::min(kBandRows, n_keys - key),
                            scratch};
            band.pack();
            for (int64_t t = t0; t < std::min(t0 + kTokens, n_tokens); ++t) band.token(t);
        }
    });
}

}  // namespace

extern constinit const Kernel kLightningIndexer{supports, run, workspace};

}  // namespace tenon::cpu
