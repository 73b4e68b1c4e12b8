// UPSCALE: src0 resampled to another size: nearest, bilinear (with or without antialiasing),
// bicubic. Dimensions 2 and 3 are always nearest.
//
// Every mode is a weighted sum of source elements along each of the two axes. Indices and weights
// are computed once per node into the workspace; each result row then combines its source rows, a
// vector at a time, and picks across the combined row.

#include <cmath>

#include "plugins/cpu/kernel.h"
#include "plugins/cpu/simd/simd.h"

namespace tenon::cpu {
namespace {

using simd::f32;

struct Tap {
    int32_t index;
    float weight;
};

// How dst samples src0 along dimension 0 or 1.
struct Sampling {
    int64_t n_in, n_out;
    int32_t mode;
    bool antialias;
    float scale, offset;

    int64_t reach() const { return static_cast<int64_t>(std::ceil(radius())); }
    float radius() const { return std::max(1.0f, 1.0f / scale); }

    int64_t n_taps() const {
        if (antialias) return std::min(2 * reach() + 2, n_in);
        return mode == GGML_SCALE_MODE_NEAREST ? 1 : mode == GGML_SCALE_MODE_BILINEAR ? 2 : 4;
    }
    // All taps of output i; those that are not needed weigh nothing.
    void write(int64_t i, Tap* taps) const {
        if (antialias) return write_antialiased(i, taps);
        if (mode == GGML_SCALE_MODE_NEAREST) return write_nearest(i, taps);
        if (mode == GGML_SCALE_MODE_BILINEAR) return write_linear(i, taps);
        write_cubic(i, taps);
    }

private:
    int32_t clamped(int64_t i) const {
        return static_cast<int32_t>(std::clamp<int64_t>(i, 0, n_in - 1));
    }
    float source(int64_t i) const { return (static_cast<float>(i) + offset) / scale - offset; }

    void write_nearest(int64_t i, Tap* taps) const {
        taps[0] = {clamped(static_cast<int64_t>(static_cast<float>(i) / scale)), 1.0f};
    }

    void write_linear(int64_t i, Tap* taps) const {
        const float u = source(i);
        const auto below = static_cast<int64_t>(std::floor(u));
        const int32_t first = clamped(below), second = clamped(below + 1);
        const float w = std::clamp(u - static_cast<float>(first), 0.0f, 1.0f);
        taps[0] = {first, 1.0f - w};
        taps[1] = {second, w};
    }

    // A triangle as wide as the distance of two outputs, if that is more than one input.
    void write_antialiased(int64_t i, Tap* taps) const {
        const float r = radius(), centre = (static_cast<float>(i) + offset) / scale;
        const auto begin = std::max<int64_t>(static_cast<int64_t>(centre - r + offset), 0);
        const auto end = std::min<int64_t>(static_cast<int64_t>(centre + r + offset), n_in);
        float total = 0.0f;
        for (int64_t k = 0; k < n_taps(); ++k) {
            const int64_t j = begin + k;
            const float distance = std::fabs((static_cast<float>(j) - centre + offset) / r);
            const float weight = j < end ? std::max(0.0f, 1.0f - distance) : 0.0f;
            taps[k] = {clamped(j), weight};
            total += weight;
        }
        for (int64_t k = 0; k < n_taps(); ++k)
            taps[k].weight = total > 0.0f ? taps[k].weight / total : 0.0f;
    }

    // Keys' kernel with a = -0.75.
    void write_cubic(int64_t i, Tap* taps) const {
        constexpr float a = -0.75f;
        const auto near = [](float z) { return ((a + 2) * z - (a + 3)) * z * z + 1; };
        const auto far = [](float z) { return ((a * z - 5 * a) * z + 8 * a) * z - 4 * a; };
        const float u = source(i), below = std::floor(u), t = u - below;
        const auto first = static_cast<int64_t>(below);
        taps[0] = {clamped(first - 1), far(t + 1)};
        taps[1] = {clamped(first), near(t)};
        taps[2] = {clamped(first + 1), near(1 - t)};
        taps[3] = {clamped(first + 2), far(2 - t)};
    }
};

Sampling sampling_of(const ggml_tensor& node, int dim) {
    const int32_t mode = params_of<tenon_upscale_params>(node).mode;
    const int64_t n_in = node.src[0]->ne[dim], n_out = node.ne[dim];
    const bool corners = (mode & GGML_SCALE_FLAG_ALIGN_CORNERS) != 0;
    const bool between = corners && n_in > 1 && n_out > 1;
    const float scale = between ? static_cast<float>(n_out - 1) / static_cast<float>(n_in - 1)
                                : static_cast<float>(n_out) / static_cast<float>(n_in);
    return {n_in,
            n_out,
            mode & TENON_UPSCALE_MODE,
            (mode & GGML_SCALE_FLAG_ANTIALIAS) != 0,
            scale,
            corners ? 0.0f : 0.5f};
}

Verdict supports(const ggml_tensor& node) {
    const ggml_tensor& a = *node.src[0];
    if (!has_dense_rows(node)) return no(TENON_REASON_STRIDES, "dst rows are not dense");
    for (int dim = 0; dim < 2; ++dim) {
        if (a.ne[dim] > INT32_MAX)
            return no(TENON_REASON_TOO_LARGE, "src0 has 2^31 columns or rows");
    }
    return yes();
}

// The workspace: taps of all columns, taps of all rows, then a row of sums for each member.
struct Tables {
    size_t x_bytes, y_bytes, sums_bytes;

    explicit Tables(const ggml_tensor& node)
        : x_bytes(table_bytes(sampling_of(node, 0))),
          y_bytes(table_bytes(sampling_of(node, 1))),
          sums_bytes(padded(static_cast<size_t>(node.src[0]->ne[0]) * sizeof(float))) {}

    static size_t padded(size_t bytes) { return (bytes + 63) / 64 * 64; }
    static size_t table_bytes(const Sampling& s) {
        return padded(static_cast<size_t>(s.n_out * s.n_taps()) * sizeof(Tap));
    }
};

size_t workspace(const ggml_tensor& node, int n_threads) {
    if (tenon_is_empty(&node)) return 0;
    const Tables tables(node);
    return tables.x_bytes + tables.y_bytes + tables.sums_bytes * static_cast<size_t>(n_threads);
}

void write_table(const Task& task, const Sampling& s, Tap* taps) {
    const Range outputs = share(task, s.n_out);
    for (int64_t i = outputs.begin; i < outputs.end; ++i) s.write(i, taps + i * s.n_taps());
}

// sums = weight * row, or sums += weight * row; n elements, `stride` bytes apart
template <class T>
void add_row(float* sums, const char* src, size_t stride, int64_t n, float weight, bool first) {
    if (stride == sizeof(T)) {
        const T* dense = reinterpret_cast<const T*>(src);
        if (first) return simd::scale(sums, dense, n, weight);
        return simd::add_scaled(sums, dense, n, weight);
    }
    for (int64_t i = 0; i < n; ++i, src += stride) {
        const float x = weight * simd::to_f32(*reinterpret_cast<const T*>(src));
        sums[i] = first ? x : sums[i] + x;
    }
}

// dst[x] = sum of the taps of column x; kTaps 0: any number
template <int kTaps>
void pick(float* dst, int64_t n, const float* sums, const Tap* taps, int64_t n_taps) {
    if constexpr (kTaps > 0) n_taps = kTaps;
    for (int64_t x = 0; x < n; ++x, taps += n_taps) {
        float sum = taps[0].weight * sums[taps[0].index];
        for (int64_t k = 1; k < n_taps; ++k) sum += taps[k].weight * sums[taps[k].index];
        dst[x] = sum;
    }
}

int64_t nearest(int64_t i, int64_t n_in, int64_t n_out) {
    const float scale = static_cast<float>(n_out) / static_cast<float>(n_in);
    return std::clamp<int64_t>(static_cast<int64_t>(static_cast<float>(i) / scale), 0, n_in - 1);
}

void run(const Task& task, const ggml_tensor& node) {
    const ggml_tensor& a = *node.src[0];
    const Sampling across = sampling_of(node, 0), down = sampling_of(node, 1);
    const Tables tables(node);
    auto* base = static_cast<char*>(task.workspace);
    auto* x_taps = reinterpret_cast<Tap*>(base);
    auto* y_taps = reinterpret_cast<Tap*>(base + tables.x_bytes);
    auto* sums = reinterpret_cast<float*>(base + tables.x_bytes + tables.y_bytes +
                                          tables.sums_bytes * static_cast<size_t>(task.ith));
    write_table(task, across, x_taps);
    write_table(task, down, y_taps);
    task.barrier();

    const int64_t n_across = across.n_taps(), n_down = down.n_taps();
    const auto pick_row = n_across == 1   ? pick<1>
                          : n_across == 2 ? pick<2>
                          : n_across == 4 ? pick<4>
                                          : pick<0>;
    with_float_type(a.type, [&]<class T>() {
        for_each_row(task, node, [&](int64_t i1, int64_t i2, int64_t i3) {
            const int64_t k2 = nearest(i2, a.ne[2], node.ne[2]);
            const int64_t k3 = nearest(i3, a.ne[3], node.ne[3]);
            for (int64_t k = 0; k < n_down; ++k) {
                const Tap tap = y_taps[i1 * n_down + k];
                if (k > 0 && tap.weight == 0.0f) continue;
                add_row<T>(sums, row<const char>(a, tap.index, k2, k3), a.nb[0], a.ne[0],
                           tap.weight, k == 0);
            }
            pick_row(row<float>(node, i1, i2, i3), node.ne[0], sums, x_taps, n_across);
        });
    });
}

}  // namespace

extern constinit const Kernel kUpscale{supports, run, workspace};

}  // namespace tenon::cpu
