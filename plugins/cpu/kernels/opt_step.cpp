// OPT_STEP_ADAMW, OPT_STEP_SGD: one step of an optimiser. dst is a view of the weights, which are
// updated in place; ADAMW updates its two moments as well. Weights, gradients and moments may each
// be of another float type: what is not f32 is decoded and rounded piece by piece.

#include <cmath>

#include "plugins/cpu/kernel.h"
#include "plugins/cpu/kernels/words.h"

namespace tenon::cpu {
namespace {

using simd::f32;

// Sources 0 … n_tensors-1 have the shape of the weights; source n_tensors has n_params numbers.
Verdict check(const ggml_tensor& node, int n_tensors) {
    if (!has_dense_rows(node)) return no(TENON_REASON_STRIDES, "rows are not dense");
    for (int i = 0; i < n_tensors; ++i) {
        const ggml_tensor& t = *node.src[i];
        if (!is_float_type(t.type)) {
            return no(TENON_REASON_TYPE, "all sources must be f32, f16 or bf16");
        }
        if (!has_dense_rows(t)) return no(TENON_REASON_STRIDES, "rows are not dense");
    }
    const ggml_tensor& params = *node.src[n_tensors];
    if (!is_contiguous(params)) return no(TENON_REASON_STRIDES, "parameters are not contiguous");
    return yes();
}

// ---- pieces of rows as f32 ----------------------------------------------------------------------

constexpr int64_t kPiece = 512;  // elements of a tensor that is not f32

// A row of one tensor, of which a piece at a time is read and perhaps stored.
class Elements {
public:
    Elements(const ggml_tensor& t, int64_t i1, int64_t i2, int64_t i3)
        : type_(t.type), row_(row<void>(t, i1, i2, i3)) {}

    // Room for elements [at, at + n): they themselves if they are f32.
    float* place(int64_t at) {
        return type_ == GGML_TYPE_F32 ? static_cast<float*>(row_) + at : buffer_;
    }
    float* read(int64_t at, int64_t n) {
        if (type_ == GGML_TYPE_F32) return place(at);
        with_float_type(
            type_, [&]<class T>() { simd::convert(buffer_, static_cast<const T*>(row_) + at, n); });
        return buffer_;
    }
    // What stands at place(at) becomes the elements.
    void store(int64_t at, int64_t n) {
        if (type_ == GGML_TYPE_F32) return;
        with_float_type(type_,
                        [&]<class T>() { simd::convert(static_cast<T*>(row_) + at, buffer_, n); });
    }

private:
    ggml_type type_;
    void* row_;
    float buffer_[kPiece];
};

// fn(at, n) for pieces of [begin, end): one when everything is f32.
template <class Fn>
void for_each_part(const ggml_tensor& node, int n_tensors, int64_t begin, int64_t end, Fn&& fn) {
    bool direct = true;
    for (int i = 0; i < n_tensors; ++i) direct = direct && node.src[i]->type == GGML_TYPE_F32;
    const int64_t size = direct ? end - begin : kPiece;
    for (int64_t at = begin; at < end; at += size) fn(at, std::min(size, end - at));
}

// ---- ADAMW ------------------------------------------------------------------------------------

Verdict supports_adamw(const ggml_tensor& node) { return check(node, 4); }

struct AdamW {  // the parameter tensor
    float alpha, beta1, beta2, epsilon, decay, beta1_correction, beta2_correction;

    // n weights `w` to dst, and their moments.
    void step(float* dst, const float* w, const float* gradient, float* first, float* second,
              int64_t n) const {
        const f32 keep = simd::splat(1 - alpha * decay), rate = simd::splat(alpha);
        const f32 old1 = simd::splat(beta1), new1 = simd::splat(1 - beta1);
        const f32 old2 = simd::splat(beta2), new2 = simd::splat(1 - beta2);
        const f32 correction1 = simd::splat(beta1_correction);
        const f32 correction2 = simd::splat(beta2_correction), least = simd::splat(epsilon);
        for_each_word(n, [&](int64_t i, int some) {
            const f32 g = get(gradient + i, some);
            const f32 m = simd::fma(get(first + i, some), old1, g * new1);
            const f32 v = simd::fma(get(second + i, some), old2, g * g * new2);
            put(first + i, m, some);
            put(second + i, v, some);
            const f32 change = m * correction1 / (simd::sqrt(v * correction2) + least);
            put(dst + i, simd::fnma(rate, change, get(w + i, some) * keep), some);
        });
    }
};

void run_adamw(const Task& task, const ggml_tensor& node) {
    AdamW adamw;
    std::memcpy(&adamw, node.src[4]->data, sizeof adamw);
    for_each_piece(task, node, [&](int64_t begin, int64_t end, int64_t i1, int64_t i2, int64_t i3) {
        Elements w(*node.src[0], i1, i2, i3), gradient(*node.src[1], i1, i2, i3);
        Elements first(*node.src[2], i1, i2, i3), second(*node.src[3], i1, i2, i3);
        Elements dst(node, i1, i2, i3);
        for_each_part(node, 4, begin, end, [&](int64_t at, int64_t n) {
            adamw.step(dst.place(at), w.read(at, n), gradient.read(at, n), first.read(at, n),
                       second.read(at, n), n);
            first.store(at, n);
            second.store(at, n);
            dst.store(at, n);
        });
    });
}

// ---- SGD --------------------------------------------------------------------------------------

Verdict supports_sgd(const ggml_tensor& node) { return check(node, 2); }

void run_sgd(const Task& task, const ggml_tensor& node) {
    const auto* p = static_cast<const float*>(node.src[2]->data);  // alpha, decay
    const f32 alpha = simd::splat(p[0]), keep = simd::splat(1 - p[0] * p[1]);
    for_each_piece(task, node, [&](int64_t begin, int64_t end, int64_t i1, int64_t i2, int64_t i3) {
        Elements w(*node.src[0], i1, i2, i3), gradient(*node.src[1], i1, i2, i3);
        Elements dst(node, i1, i2, i3);
        for_each_part(node, 2, begin, end, [&](int64_t at, int64_t n) {
            simd::map(dst.place(at), w.read(at, n), gradient.read(at, n), n,
                      [=](f32 x, f32 g) { return simd::fnma(alpha, g, x * keep); });
            dst.store(at, n);
        });
    });
}

}  // namespace

extern constinit const Kernel kOptStepAdamW{supports_adamw, run_adamw};
extern constinit const Kernel kOptStepSgd{supports_sgd, run_sgd};

}  // namespace tenon::cpu
