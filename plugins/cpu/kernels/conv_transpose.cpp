// CONV_TRANSPOSE_1D, CONV_TRANSPOSE_2D: every input value spreads a kernel over the result,
// dst[x*s + kx, y*s + ky, o, n] += sum over c of a[kx, ky, o, c] * b[x, y, c, n].
//
// The sums over channels are a matrix product by the panels of dot/panels.h: positions of src1 are
// the rows (packed once, by all members), the taps of one output channel the columns. Who computes
// an output channel also adds its products up, so members never meet.

#include "plugins/cpu/dot/panels.h"
#include "plugins/cpu/kernel.h"
#include "plugins/cpu/simd/simd.h"

namespace tenon::cpu {
namespace {

struct Transposed {
    int64_t width, height, n_in;  // of src1; channels
    int64_t kernel_w, kernel_h;   // taps
    int64_t n_out, n_batch;       // channels, batches
    int64_t stride;
    size_t kernel_nb[4];  // bytes: width, height, output channel, input channel
    size_t data_nb[4];    // bytes: width, height, channel, batch
    int64_t dst_w, dst_h;

    int64_t n_positions() const { return width * height; }
    int64_t n_taps() const { return kernel_w * kernel_h; }
    int64_t n_bands() const { return (n_positions() + kBandRows - 1) / kBandRows; }
    // Panels of one batch: every band as deep as there are channels.
    size_t band_floats() const { return static_cast<size_t>(kBandRows * n_in); }
    size_t batch_floats() const { return band_floats() * static_cast<size_t>(n_bands()); }
    size_t panels_bytes() const {
        return batch_floats() * static_cast<size_t>(n_batch) * sizeof(float);
    }
    // A strip of kernels, then the products of a band.
    size_t member_bytes() const {
        const size_t floats = static_cast<size_t>(kStripCols * (n_in + kBandRows));
        return (floats * sizeof(float) + 63) / 64 * 64;
    }
};

Transposed transposed_1d(const ggml_tensor& node) {
    const ggml_tensor &a = *node.src[0], &b = *node.src[1];
    const int64_t stride = params_of<tenon_conv_transpose_1d_params>(node).s0;
    return {b.ne[0],
            1,
            b.ne[1],
            a.ne[0],
            1,
            a.ne[1],
            b.ne[2],
            stride,
            {a.nb[0], 0, a.nb[1], a.nb[2]},
            {b.nb[0], 0, b.nb[1], b.nb[2]},
            node.ne[0],
            1};
}

Transposed transposed_2d(const ggml_tensor& node) {
    const ggml_tensor &a = *node.src[0], &b = *node.src[1];
    const int64_t stride = params_of<tenon_conv_transpose_2d_params>(node).stride;
    return {b.ne[0],
            b.ne[1],
            b.ne[2],
            a.ne[0],
            a.ne[1],
            a.ne[2],
            b.ne[3],
            stride,
            {a.nb[0], a.nb[1], a.nb[2], a.nb[3]},
            {b.nb[0], b.nb[1], b.nb[2], b.nb[3]},
            node.ne[0],
            node.ne[1]};
}

int64_t spread(int64_t n, int64_t taps, int64_t stride) { return (n - 1) * stride + taps; }

Verdict supports(const ggml_tensor& node) {
    if (!is_float_type(node.src[0]->type))
        return no(TENON_REASON_TYPE, "src0 must be f32, f16 or bf16");
    if (!is_float_type(node.src[1]->type))
        return no(TENON_REASON_TYPE, "src1 must be f32, f16 or bf16");
    if (!is_contiguous(node)) return no(TENON_REASON_STRIDES, "dst is not contiguous");
    return yes();
}

// ---- packing ----------------------------------------------------------------------------------

// Positions of one band, all channels: panel[channel][position].
template <class T>
void pack_positions(const Transposed& t, const char* batch, int64_t band, float* panels) {
    const int64_t first = band * kBandRows, last = std::min(first + kBandRows, t.n_positions());
    for (int64_t row = first; row < last; row += kPanelRows) {
        for (int64_t c = 0; c < t.n_in; ++c, panels += kPanelRows) {
            const char* channel = batch + static_cast<size_t>(c) * t.data_nb[2];
            const int64_t n = std::min(kPanelRows, last - row);
            for (int64_t done = 0; done < n;) {
                const int64_t x = (row + done) % t.width, y = (row + done) / t.width;
                const int64_t length = std::min(t.width - x, n - done);
                const char* src = channel + static_cast<size_t>(y) * t.data_nb[1] +
                                  static_cast<size_t>(x) * t.data_nb[0];
                if (t.data_nb[0] == sizeof(T)) {
                    simd::convert(panels + done, reinterpret_cast<const T*>(src), length);
                } else {
                    for (int64_t i = 0; i < length; ++i, src += t.data_nb[0])
                        panels[done + i] = simd::to_f32(*reinterpret_cast<const T*>(src));
                }
                done += length;
            }
            std::fill(panels + n, panels + kPanelRows, 0.0f);
        }
    }
}

// Taps [tap, tap + n) of an output channel: strip[channel][tap].
template <class T>
void pack_taps(const Transposed& t, const char* kernel, int64_t tap, int64_t n, float* strip) {
    for (int64_t i = 0; i < kStripCols; ++i) {
        const char* p = kernel + static_cast<size_t>((tap + i) % t.kernel_w) * t.kernel_nb[0] +
                        static_cast<size_t>((tap + i) / t.kernel_w) * t.kernel_nb[1];
        for (int64_t c = 0; c < t.n_in; ++c, p += t.kernel_nb[3]) {
            strip[c * kStripCols + i] = i < n ? simd::to_f32(*reinterpret_cast<const T*>(p)) : 0.0f;
        }
    }
}

// ---- the product ------------------------------------------------------------------------------

// Products of tap `tap` at positions [first, first + n), to where they belong.
void add_products(const Transposed& t, int64_t tap, int64_t first, int64_t n, const float* products,
                  float* plane) {
    const int64_t kx = tap % t.kernel_w, ky = tap / t.kernel_w;
    for (int64_t done = 0; done < n;) {
        const int64_t x = (first + done) % t.width, y = (first + done) / t.width;
        const int64_t length = std::min(t.width - x, n - done);
        float* dst = plane + (y * t.stride + ky) * t.dst_w + x * t.stride + kx;
        if (t.stride == 1) {
            simd::map(dst, dst, products + done, length,
                      [](simd::f32 a, simd::f32 b) { return a + b; });
        } else {
            for (int64_t i = 0; i < length; ++i) dst[i * t.stride] += products[done + i];
        }
        done += length;
    }
}

// One output channel of one batch.
template <class T>
void compute_plane(const Transposed& t, const char* kernel, const float* panels, float* own,
                   float* plane) {
    float* strip = own;
    float* products = own + kStripCols * t.n_in;
    std::fill(plane, plane + t.dst_w * t.dst_h, 0.0f);
    for (int64_t tap = 0; tap < t.n_taps(); tap += kStripCols) {
        const int64_t n_cols = std::min(kStripCols, t.n_taps() - tap);
        pack_taps<T>(t, kernel, tap, n_cols, strip);
        float* columns[kStripCols];
        for (int64_t c = 0; c < kStripCols; ++c) columns[c] = products + c * kBandRows;
        for (int64_t band = 0; band < t.n_bands(); ++band) {
            const int64_t first = band * kBandRows,
                          n = std::min(kBandRows, t.n_positions() - first);
            multiply(panels + t.band_floats() * static_cast<size_t>(band), n, strip, n_cols, t.n_in,
                     columns, /*add=*/false);
            for (int64_t c = 0; c < n_cols; ++c)
                add_products(t, tap + c, first, n, columns[c], plane);
        }
    }
}

void run_transposed(const Task& task, const ggml_tensor& node, const Transposed& t) {
    const ggml_tensor &a = *node.src[0], &b = *node.src[1];
    auto* base = static_cast<char*>(task.workspace);
    auto* panels = reinterpret_cast<float*>(base);
    auto* own = reinterpret_cast<float*>(base + t.panels_bytes() +
                                         t.member_bytes() * static_cast<size_t>(task.ith));
    with_float_type(b.type, [&]<class T>() {
        for (int64_t i = task.ith; i < t.n_bands() * t.n_batch; i += task.nth) {
            const auto batch = static_cast<size_t>(i / t.n_bands());
            pack_positions<T>(t, static_cast<const char*>(b.data) + batch * t.data_nb[3],
                              i % t.n_bands(), panels + t.band_floats() * static_cast<size_t>(i));
        }
    });
    task.barrier();
    with_float_type(a.type, [&]<class T>() {
        for_each_chunk(task, t.n_out * t.n_batch, 1, [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) {
                const auto o = static_cast<size_t>(i % t.n_out);
                compute_plane<T>(t, static_cast<const char*>(a.data) + o * t.kernel_nb[2],
                                 panels + t.batch_floats() * static_cast<size_t>(i / t.n_out), own,
                                 static_cast<float*>(node.data) + i * t.dst_w * t.dst_h);
            }
        });
    });
}

size_t workspace(const Transposed& t, int n_threads) {
    return t.panels_bytes() + t.member_bytes() * static_cast<size_t>(n_threads);
}

// What a tap gives is added to its place, however few channels it sums up.
double slowness(const Transposed& t) {
    return 1 + 1.5 * simd::f32::lanes / static_cast<double>(t.n_in);
}

// ---- the two ops ------------------------------------------------------------------------------

void run_1d(const Task& task, const ggml_tensor& node) {
    run_transposed(task, node, transposed_1d(node));
}
void run_2d(const Task& task, const ggml_tensor& node) {
    run_transposed(task, node, transposed_2d(node));
}
size_t workspace_1d(const ggml_tensor& node, int n_threads) {
    return workspace(transposed_1d(node), n_threads);
}
size_t workspace_2d(const ggml_tensor& node, int n_threads) {
    return workspace(transposed_2d(node), n_threads);
}
double slowness_1d(const ggml_tensor& node) { return slowness(transposed_1d(node)); }
double slowness_2d(const ggml_tensor& node) { return slowness(transposed_2d(node)); }

}  // namespace

extern constinit const Kernel kConvTranspose1d{supports, run_1d, workspace_1d, slowness_1d};
extern constinit const Kernel kConvTranspose2d{supports, run_2d, workspace_2d, slowness_2d};

}  // namespace tenon::cpu
