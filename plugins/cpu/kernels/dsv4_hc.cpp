// DSV4_HC_COMB, DSV4_HC_PRE, DSV4_HC_POST: the hyper-connections of DeepSeek V4. Every stride of
// every source is honoured.

#include "plugins/cpu/kernel.h"
#include "plugins/cpu/simd/vmath.h"

namespace tenon::cpu {
namespace {

using simd::f32;

Verdict supports(const ggml_tensor& node) {
    if (!has_dense_rows(node)) return no(TENON_REASON_STRIDES, "dst rows are not dense");
    return yes();
}

float at(const ggml_tensor& t, int64_t i0, int64_t i1 = 0, int64_t i2 = 0) {
    return *element<const float>(t, i0, i1, i2, 0);
}

// ---- COMB -------------------------------------------------------------------------------------
// Per token: a 4x4 matrix P[d, s] is made positive by a softmax over d and then brought towards
// rows and columns of sum 1 by turns. Tokens lie side by side in the lanes.

constexpr int kHyper = 4, kMixes = (2 + kHyper) * kHyper, kFirstMix = 2 * kHyper;

struct Matrix {
    f32 p[kHyper][kHyper];  // [s][d]

    void softmax_over_d(f32 epsilon) {
        for (auto& line : p) {
            const f32 most = simd::max(simd::max(line[0], line[1]), simd::max(line[2], line[3]));
            for (f32& x : line) x = simd::exp(x - most);
            const f32 sum = (line[0] + line[1]) + (line[2] + line[3]);
            for (f32& x : line) x = x / sum + epsilon;
        }
    }
    void normalize_over_s(f32 epsilon) {
        for (int d = 0; d < kHyper; ++d) {
            const f32 sum = (p[0][d] + p[1][d]) + (p[2][d] + p[3][d]) + epsilon;
            for (auto& line : p) line[d] = line[d] / sum;
        }
    }
    void normalize_over_d(f32 epsilon) {
        for (auto& line : p) {
            const f32 sum = (line[0] + line[1]) + (line[2] + line[3]) + epsilon;
            for (f32& x : line) x = x / sum;
        }
    }
};

// Tokens [token, token + n), n at most f32::lanes.
void comb_tokens(const ggml_tensor& node, int64_t token, int n) {
    const ggml_tensor& mixes = *node.src[0];
    const auto params = params_of<tenon_dsv4_hc_comb_params>(node);
    const f32 epsilon = simd::splat(params.eps), scale = simd::splat(at(*node.src[1], 2));
    Matrix m;
    for (int i = 0; i < kHyper * kHyper; ++i) {
        float lanes[f32::lanes] = {};
        for (int l = 0; l < n; ++l) lanes[l] = at(mixes, kFirstMix + i, token + l);
        m.p[i / kHyper][i % kHyper] =
            simd::fma(simd::load(lanes), scale, simd::splat(at(*node.src[2], kFirstMix + i)));
    }
    m.softmax_over_d(epsilon);
    m.normalize_over_s(epsilon);
    for (int32_t i = 1; i < params.n_iter; ++i) {
        m.normalize_over_d(epsilon);
        m.normalize_over_s(epsilon);
    }
    for (int i = 0; i < kHyper * kHyper; ++i) {
        float lanes[f32::lanes];
        simd::store(lanes, m.p[i / kHyper][i % kHyper]);
        for (int l = 0; l < n; ++l) {
            *element<float>(node, i % kHyper, i / kHyper, token + l, 0) = lanes[l];
        }
    }
}

void run_comb(const Task& task, const ggml_tensor& node) {
    const int64_t n_tokens = node.ne[2];
    const Range r = share(task, (n_tokens + f32::lanes - 1) / f32::lanes);
    for (int64_t i = r.begin; i < r.end; ++i) {
        const int64_t token = i * f32::lanes;
        comb_tokens(node, token, static_cast<int>(std::min<int64_t>(f32::lanes, n_tokens - token)));
    }
}

// ---- PRE, POST: sums of rows with factors -------------------------------------------------------

// dst[i] (+)= factor * src[i * stride]
void accumulate(float* dst, const float* src, size_t stride, int64_t n, float factor, bool add) {
    if (stride == sizeof(float) || n == 1) {
        if (add) {
            simd::add_scaled(dst, src, n, factor);
        } else {
            simd::scale(dst, src, n, factor);
        }
        return;
    }
    const auto* p = reinterpret_cast<const char*>(src);
    for (int64_t i = 0; i < n; ++i, p += stride) {
        const float x = *reinterpret_cast<const float*>(p) * factor;
        dst[i] = add ? dst[i] + x : x;
    }
}

// dst[e, t] = sum over h of x[e, h, t] * weights[h, t]
void run_pre(const Task& task, const ggml_tensor& node) {
    const ggml_tensor& x = *node.src[0];
    const ggml_tensor& weights = *node.src[1];
    for_each_piece(task, node, [&](int64_t begin, int64_t end, int64_t t, int64_t, int64_t) {
        float* dst = row<float>(node, t) + begin;
        if (x.ne[1] == 0) simd::fill(dst, end - begin, 0.0f);
        for (int64_t h = 0; h < x.ne[1]; ++h) {
            accumulate(dst, element<const float>(x, begin, h, t, 0), x.nb[0], end - begin,
                       at(weights, h, t), h > 0);
        }
    });
}

// dst[e, i, t] = x[e, t] * post[i, t] + sum over s of residual[e, s, t] * comb[i, s, t]
void run_post(const Task& task, const ggml_tensor& node) {
    const ggml_tensor& x = *node.src[0];
    const ggml_tensor& residual = *node.src[1];
    const ggml_tensor& post = *node.src[2];
    const ggml_tensor& comb = *node.src[3];
    for_each_piece(task, node, [&](int64_t begin, int64_t end, int64_t i, int64_t t, int64_t) {
        float* dst = row<float>(node, i, t) + begin;
        accumulate(dst, element<const float>(x, begin, t, 0, 0), x.nb[0], end - begin,
                   at(post, i, t), false);
        for (int64_t s = 0; s < residual.ne[1]; ++s) {
            accumulate(dst, element<const float>(residual, begin, s, t, 0), residual.nb[0],
                       end - begin, at(comb, i, s, t), true);
        }
    });
}

}  // namespace

extern constinit const Kernel kDsv4HcComb{supports, run_comb};
extern constinit const Kernel kDsv4HcPre{supports, run_pre};
extern constinit const Kernel kDsv4HcPost{supports, run_post};

}  // namespace tenon::cpu
