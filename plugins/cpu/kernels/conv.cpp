// CONV_2D, CONV_3D: products of kernels with the patches of src1 they lie over. Patches are packed
// band by band into the panels of dot/panels.h and never exist as a whole: positions are the rows
// of a panel, output channels the columns of a strip. Axis 0 is width, 1 height, 2 depth.

#include "plugins/cpu/dot/panels.h"
#include "plugins/cpu/kernel.h"
#include "plugins/cpu/kernels/axis.h"
#include "plugins/cpu/simd/simd.h"

namespace tenon::cpu {
namespace {

struct Strides {  // in bytes
    size_t axis[3], channel, outer;
};

struct Conv {
    Axis axis[3];
    int64_t n_in, n_out, n_batch;  // channels, channels, batches
    Strides data, kernel;          // outer: batch, output channel

    int64_t n_taps() const { return axis[0].n_taps * axis[1].n_taps * axis[2].n_taps; }
    int64_t depth() const { return n_in * n_taps(); }
    int64_t n_positions() const { return axis[0].n_out * axis[1].n_out * axis[2].n_out; }
    int64_t n_strips() const { return (n_out + kStripCols - 1) / kStripCols; }
    int64_t n_bands() const { return (n_positions() + kBandRows - 1) / kBandRows; }
    size_t strip_floats() const { return static_cast<size_t>(depth() * kStripCols); }
    size_t strips_bytes() const {
        return (strip_floats() * static_cast<size_t>(n_strips()) * sizeof(float) + 63) / 64 * 64;
    }
};

Conv conv_2d_of(const ggml_tensor& node) {
    const auto p = params_of<tenon_conv_2d_params>(node);
    const ggml_tensor &a = *node.src[0], &b = *node.src[1];
    return {{{b.ne[0], node.ne[0], a.ne[0], p.s0, p.p0, p.d0},
             {b.ne[1], node.ne[1], a.ne[1], p.s1, p.p1, p.d1},
             {}},
            b.ne[2],
            node.ne[2],
            node.ne[3],
            {{b.nb[0], b.nb[1], 0}, b.nb[2], b.nb[3]},
            {{a.nb[0], a.nb[1], 0}, a.nb[2], a.nb[3]}};
}

Conv conv_3d_of(const ggml_tensor& node) {
    const auto p = params_of<tenon_conv_3d_params>(node);
    const ggml_tensor &a = *node.src[0], &b = *node.src[1];
    const auto n_in = static_cast<size_t>(p.n_channels);
    return {{{b.ne[0], node.ne[0], a.ne[0], p.s0, p.p0, p.d0},
             {b.ne[1], node.ne[1], a.ne[1], p.s1, p.p1, p.d1},
             {b.ne[2], node.ne[2], a.ne[2], p.s2, p.p2, p.d2}},
            p.n_channels,
            p.n_channels_out,
            p.n_batch,
            {{b.nb[0], b.nb[1], b.nb[2]}, b.nb[3], b.nb[3] * n_in},
            {{a.nb[0], a.nb[1], a.nb[2]}, a.nb[3], a.nb[3] * n_in}};
}

Verdict supports(const ggml_tensor& node) {
    if (!is_float_type(node.src[0]->type))
        return no(TENON_REASON_TYPE, "src0 must be f32, f16 or bf16");
    if (!is_float_type(node.src[1]->type))
        return no(TENON_REASON_TYPE, "src1 must be f32, f16 or bf16");
    if (!is_contiguous(node)) return no(TENON_REASON_STRIDES, "dst is not contiguous");
    return yes();
}

// ---- packing ----------------------------------------------------------------------------------

// One of the depth() products of a position: a channel and a tap.
struct Product {
    int64_t channel = 0, tap[3] = {};

    Product(const Conv& conv, int64_t k) {
        if (conv.n_taps() == 0) return;
        for (int i = 0; i < 3; ++i) {
            tap[i] = k % conv.axis[i].n_taps;
            k /= conv.axis[i].n_taps;
        }
        channel = k;
    }
    void advance(const Conv& conv) {
        for (int i = 0; i < 3; ++i) {
            if (++tap[i] < conv.axis[i].n_taps) return;
            tap[i] = 0;
        }
        ++channel;
    }
};

// The kernels of one strip of output channels: strip[k][column], zero beyond the last channel.
template <class T>
void pack_kernels(const Conv& conv, const char* kernels, int64_t strip_index, float* strip) {
    const int64_t first = strip_index * kStripCols;
    const int64_t n = std::min(kStripCols, conv.n_out - first);
    const char* base = kernels + static_cast<size_t>(first) * conv.kernel.outer;
    Product at(conv, 0);
    for (int64_t k = 0; k < conv.depth(); ++k, at.advance(conv), strip += kStripCols) {
        const char* p = base + static_cast<size_t>(at.channel) * conv.kernel.channel;
        for (int i = 0; i < 3; ++i) p += static_cast<size_t>(at.tap[i]) * conv.kernel.axis[i];
        for (int64_t c = 0; c < n; ++c, p += conv.kernel.outer)
            strip[c] = simd::to_f32(*reinterpret_cast<const T*>(p));
        std::fill(strip + n, strip + kStripCols, 0.0f);
    }
}

// Positions of a panel that follow each other along the width.
struct Run {
    int64_t x, y, z, n, lane;
};

// Cuts positions [first, first + n) into runs; as many as there are positions at most.
int64_t cut_into_runs(const Conv& conv, int64_t first, int64_t n, Run* runs) {
    const int64_t width = conv.axis[0].n_out, height = conv.axis[1].n_out;
    int64_t n_runs = 0;
    for (int64_t done = 0; done < n; ++n_runs) {
        const int64_t at = first + done, x = at % width;
        const int64_t length = std::min(width - x, n - done);
        runs[n_runs] = {x, at / width % height, at / width / height, length, done};
        done += length;
    }
    return n_runs;
}

// n elements, `stride` bytes apart
template <class T>
void gather(float* out, const char* src, size_t stride, int64_t n) {
    if (stride == sizeof(T)) return simd::convert(out, reinterpret_cast<const T*>(src), n);
    for (int64_t i = 0; i < n; ++i, src += stride)
        out[i] = simd::to_f32(*reinterpret_cast<const T*>(src));
}

// What product `at` multiplies at the positions of a run; zero where that is padding.
template <class T>
void pack_run(const Conv& conv, const char* batch, const Product& at, const Run& run, float* out) {
    const Axis& width = conv.axis[0];
    const int64_t y = conv.axis[1].input(run.y, at.tap[1]);
    const int64_t z = conv.axis[2].input(run.z, at.tap[2]);
    if (!conv.axis[1].has(y) || !conv.axis[2].has(z)) return std::fill(out, out + run.n, 0.0f);
    const Range inside = width.outputs_inside(at.tap[0]);
    const int64_t begin = std::clamp(inside.begin, run.x, run.x + run.n);
    const int64_t end = std::clamp(inside.end, begin, run.x + run.n);
    std::fill(out, out + (begin - run.x), 0.0f);
    if (begin < end) {
        const char* src = batch + static_cast<size_t>(at.channel) * conv.data.channel +
                          static_cast<size_t>(z) * conv.data.axis[2] +
                          static_cast<size_t>(y) * conv.data.axis[1] +
                          static_cast<size_t>(width.input(begin, at.tap[0])) * conv.data.axis[0];
        gather<T>(out + (begin - run.x), src, static_cast<size_t>(width.stride) * conv.data.axis[0],
                  end - begin);
    }
    std::fill(out + (end - run.x), out + run.n, 0.0f);
}

// Patches of positions [first, first + n), products [k0, k0 + depth) of each, into panels.
template <class T>
void pack_patches(const Conv& conv, const char* batch, int64_t first, int64_t n, int64_t k0,
                  int64_t depth, float* band) {
    for (int64_t r = 0; r < n; r += kPanelRows) {
        const int64_t n_rows = std::min(kPanelRows, n - r);
        Run runs[kPanelRows];
        const int64_t n_runs = cut_into_runs(conv, first + r, n_rows, runs);
        float* out = band + r * depth;
        Product at(conv, k0);
        for (int64_t k = 0; k < depth; ++k, at.advance(conv), out += kPanelRows) {
            for (int64_t i = 0; i < n_runs; ++i)
                pack_run<T>(conv, batch, at, runs[i], out + runs[i].lane);
            std::fill(out + n_rows, out + kPanelRows, 0.0f);
        }
    }
}

// ---- the product ------------------------------------------------------------------------------

// Scratch of a member: a band of patches, and for results that are not f32 a band of sums.
size_t member_bytes(const ggml_tensor& node, const Conv& conv) {
    const int64_t sums = node.type == GGML_TYPE_F32 ? 0 : conv.n_out * kBandRows;
    return (static_cast<size_t>(kBandFloats + sums) * sizeof(float) + 63) / 64 * 64;
}

struct Job {
    const ggml_tensor& node;
    const Conv& conv;
    const float* strips;
    float* own;

    // Positions of band `band` of a batch, output channels of strips [begin, end).
    void multiply_band(int64_t batch, int64_t band, int64_t begin, int64_t end) const {
        const ggml_tensor& data = *node.src[1];
        const char* src =
            static_cast<const char*>(data.data) + static_cast<size_t>(batch) * conv.data.outer;
        const int64_t first = band * kBandRows, n = std::min(kBandRows, conv.n_positions() - first);
        for (int64_t k0 = 0; k0 < conv.depth() || k0 == 0; k0 += kDepth) {
            const int64_t depth = std::min(kDepth, conv.depth() - k0);
            with_float_type(data.type, [&]<class T>() {
                pack_patches<T>(conv, src, first, n, k0, depth, own);
            });
            for (int64_t strip = begin; strip < end; ++strip) {
                float* dst[kStripCols];
                const int64_t cols = std::min(kStripCols, conv.n_out - strip * kStripCols);
                for (int64_t c = 0; c < cols; ++c)
                    dst[c] = sums_of(batch, strip * kStripCols + c, first);
                multiply(own, n, strips + conv.strip_floats() * strip + k0 * kStripCols, cols,
                         depth, dst, /*add=*/k0 > 0);
            }
        }
        if (node.type == GGML_TYPE_F32) return;
        const int64_t last = std::min(end * kStripCols, conv.n_out);
        with_float_type(node.type, [&]<class T>() {
            for (int64_t o = begin * kStripCols; o < last; ++o) {
                T* dst = static_cast<T*>(node.data) + plane(batch, o) + first;
                simd::convert(dst, sums_of(batch, o, first), n);
            }
        });
    }

    int64_t plane(int64_t batch, int64_t o) const {
        return (batch * conv.n_out + o) * conv.n_positions();
    }
    float* sums_of(int64_t batch, int64_t o, int64_t first) const {
        if (node.type != GGML_TYPE_F32) return own + kBandFloats + o * kBandRows;
        return static_cast<float*>(node.data) + plane(batch, o) + first;
    }
};

void run_conv(const Task& task, const ggml_tensor& node, const Conv& conv) {
    const ggml_tensor& kernel = *node.src[0];
    auto* base = static_cast<char*>(task.workspace);
    auto* strips = reinterpret_cast<float*>(base);
    auto* own = reinterpret_cast<float*>(base + conv.strips_bytes() +
                                         member_bytes(node, conv) * static_cast<size_t>(task.ith));
    const int64_t n_strips = conv.n_strips();
    with_float_type(kernel.type, [&]<class T>() {
        for (int64_t s = task.ith; s < n_strips; s += task.nth) {
            pack_kernels<T>(conv, static_cast<const char*>(kernel.data), s,
                            strips + conv.strip_floats() * s);
        }
    });
    task.barrier();

    // Few positions: members share the channels too, and each packs the patches for itself.
    const int64_t n_bands = conv.n_bands() * conv.n_batch;
    const int64_t wanted = task.nth == 1 ? 1 : (4 * task.nth + n_bands - 1) / n_bands;
    const int64_t per_group = (n_strips + wanted - 1) / std::min(wanted, n_strips);
    const int64_t n_groups = (n_strips + per_group - 1) / per_group;
    const Job job{node, conv, strips, own};
    for_each_chunk(task, n_bands * n_groups, 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
            const int64_t band = i / n_groups, first = i % n_groups * per_group;
            job.multiply_band(band / conv.n_bands(), band % conv.n_bands(), first,
                              std::min(first + per_group, n_strips));
        }
    });
}

size_t workspace(const ggml_tensor& node, const Conv& conv, int n_threads) {
    return conv.strips_bytes() + member_bytes(node, conv) * static_cast<size_t>(n_threads);
}

// Strips may be wider than there are channels, and patches are packed first.
double slowness(const Conv& conv) {
    const double columns = static_cast<double>(conv.n_strips() * kStripCols);
    return (columns + simd::f32::lanes) / static_cast<double>(conv.n_out);
}

// ---- the two ops ------------------------------------------------------------------------------

void run_2d(const Task& task, const ggml_tensor& node) { run_conv(task, node, conv_2d_of(node)); }
void run_3d(const Task& task, const ggml_tensor& node) { run_conv(task, node, conv_3d_of(node)); }
size_t workspace_2d(const ggml_tensor& node, int n_threads) {
    return workspace(node, conv_2d_of(node), n_threads);
}
size_t workspace_3d(const ggml_tensor& node, int n_threads) {
    return workspace(node, conv_3d_of(node), n_threads);
}
double slowness_2d(const ggml_tensor& node) { return slowness(conv_2d_of(node)); }
double slowness_3d(const ggml_tensor& node) { return slowness(conv_3d_of(node)); }

}  // namespace

extern constinit const Kernel kConv2d{supports, run_2d, workspace_2d, slowness_2d};
extern constinit const Kernel kConv3d{supports, run_3d, workspace_3d, slowness_3d};

}  // namespace tenon::cpu
