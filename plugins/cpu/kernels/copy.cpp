// DUP CPY CONT: the k-th element of src0, rows first, becomes the k-th element of dst, converted.
//
// A conversion is a pair of functions: one brings a run of source elements to a dense row of values
// (f32, or the bytes themselves when the types are equal), the other stores such a row.

#include <limits>

#include "plugins/cpu/dot/dot.h"
#include "plugins/cpu/kernels/move.h"
#include "plugins/cpu/kernels/row_buffer.h"
#include "plugins/cpu/simd/simd.h"
#include "tenon/quant.h"

namespace tenon::cpu {
namespace {

// f32 -> i32 truncates; what does not fit becomes the smallest number.
int32_t to_i32(float x) {
    return x >= -2147483648.0f && x < 2147483648.0f ? static_cast<int32_t>(x)
                                                    : std::numeric_limits<int32_t>::min();
}

struct Index {
    int64_t i0, i1, i2, i3;
};
Index unravel(const ggml_tensor& t, int64_t k, int64_t block) {
    const int64_t n0 = t.ne[0] / block;
    const int64_t r = k / n0;
    return {k % n0, r % t.ne[1], r / t.ne[1] % t.ne[2], r / t.ne[1] / t.ne[2]};
}

// fn(first byte of a run, elements in it) for elements [k, k + n) of t, cut where t's rows end. An
// element is a block of the type.
template <class Fn>
void for_each_run(const ggml_tensor& t, int64_t k, int64_t n, int64_t block, Fn&& fn) {
    Index at = unravel(t, k, block);
    const int64_t n0 = t.ne[0] / block;
    while (n > 0) {
        const int64_t run = std::min(n, n0 - at.i0);
        fn(element<char>(t, at.i0, at.i1, at.i2, at.i3), run);
        n -= run;
        at.i0 = 0;
        if (++at.i1 == t.ne[1]) {
            at.i1 = 0;
            if (++at.i2 == t.ne[2]) at.i2 = 0, ++at.i3;
        }
    }
}

// ---- equal types: bytes -------------------------------------------------------------------------

void copy_same_type(const ggml_tensor& src, const ggml_tensor& dst, int64_t begin, int64_t end) {
    const TypeSize size = type_size(dst.type);
    int64_t k = begin;
    for_each_run(dst, begin, end - begin, size.block, [&](char* out, int64_t n) {
        for_each_run(src, k, n, size.block, [&](const char* in, int64_t run) {
            move_run(out, dst.nb[0], in, src.nb[0], run, size.bytes);
            out += static_cast<size_t>(run) * dst.nb[0];
        });
        k += n;
    });
}

// Columns [i0, i0 + lanes) of rows [i1, i1 + lanes), 4-byte elements, transposed in registers.
void transpose_square(const char* src, size_t src_stride, char* dst, size_t dst_stride) {
    simd::f32 a[simd::f32::lanes];
    TENON_UNROLL
    for (int k = 0; k < simd::f32::lanes; ++k) {
        a[k] = simd::load(reinterpret_cast<const float*>(src + k * src_stride));
    }
    simd::transpose(a);
    TENON_UNROLL
    for (int k = 0; k < simd::f32::lanes; ++k) {
        simd::store(reinterpret_cast<float*>(dst + k * dst_stride), a[k]);
    }
}

// A transposed matrix into dense rows: squares, so that every cache line that is read is used up.
template <size_t kBytes>
void copy_transposed(const Task& task, const ggml_tensor& src, const ggml_tensor& dst) {
    constexpr int64_t kSide = kBytes == 4 ? simd::f32::lanes : 16;
    const int64_t bands = (src.ne[1] + kSide - 1) / kSide;
    const Range range = share(task, bands * src.ne[2] * src.ne[3]);
    for (int64_t band = range.begin; band < range.end; ++band) {
        const int64_t i1 = band % bands * kSide, i2 = band / bands % src.ne[2],
                      i3 = band / bands / src.ne[2];
        const int64_t rows = std::min(kSide, src.ne[1] - i1);
        for (int64_t i0 = 0; i0 < src.ne[0]; i0 += kSide) {
            const int64_t columns = std::min(kSide, src.ne[0] - i0);
            const char* in = element<char>(src, i0, i1, i2, i3);
            char* out = element<char>(dst, i0, i1, i2, i3);
            if (kBytes == 4 && rows == kSide && columns == kSide) {
                transpose_square(in, src.nb[0], out, dst.nb[1]);
                continue;
            }
            for (int64_t r = 0; r < rows; ++r) {
                move_strided<kBytes>(out + r * dst.nb[1], kBytes, in + r * kBytes, src.nb[0],
                                     columns);
            }
        }
    }
}

bool is_transposed_copy(const ggml_tensor& src, const ggml_tensor& dst) {
    const TypeSize size = type_size(src.type);
    return size.block == 1 && (size.bytes == 2 || size.bytes == 4) && src.nb[1] == size.bytes &&
           src.nb[0] != size.bytes && has_dense_rows(dst) && tenon_same_shape(&src, &dst) &&
           src.ne[0] >= 8 && src.ne[1] >= 8;
}

// ---- different types: through f32 ---------------------------------------------------------------

// n values of src from element k on, as f32. Source elements are single values.
void read_values(const ggml_tensor& src, int64_t k, int64_t n, float* out) {
    for_each_run(src, k, n, 1, [&](const char* in, int64_t run) {
        const size_t stride = src.nb[0];
        if (src.type == GGML_TYPE_I32) {
            for (int64_t i = 0; i < run; ++i) {
                out[i] = static_cast<float>(*reinterpret_cast<const int32_t*>(in + i * stride));
            }
        } else {
            with_float_type(src.type, [&]<class T>() {
                if (stride == sizeof(T))
                    return simd::convert(out, reinterpret_cast<const T*>(in), run);
                for (int64_t i = 0; i < run; ++i) {
                    out[i] = simd::to_f32(*reinterpret_cast<const T*>(in + i * stride));
                }
            });
        }
        out += run;
    });
}

// The other way: n values become elements k … of dst.
void write_values(const ggml_tensor& dst, int64_t k, int64_t n, const float* values) {
    for_each_run(dst, k, n, 1, [&](char* out, int64_t run) {
        const size_t stride = dst.nb[0];
        if (dst.type == GGML_TYPE_I32) {
            for (int64_t i = 0; i < run; ++i) {
                *reinterpret_cast<int32_t*>(out + i * stride) = to_i32(values[i]);
            }
        } else {
            with_float_type(dst.type, [&]<class T>() {
                if (stride == sizeof(T))
                    return simd::convert(reinterpret_cast<T*>(out), values, run);
                for (int64_t i = 0; i < run; ++i) {
                    simd::set_f32(reinterpret_cast<T*>(out + i * stride), values[i]);
                }
            });
        }
        values += run;
    });
}

// Dense on both sides and no rounding in between: straight from row to row.
bool convert_dense_rows(const ggml_tensor& src, const ggml_tensor& dst, int64_t begin,
                        int64_t end) {
    if (!is_float_type(src.type) || !is_float_type(dst.type)) return false;
    if (!has_dense_rows(src) || !has_dense_rows(dst)) return false;
    with_float_type(dst.type, [&]<class D>() {
        with_float_type(src.type, [&]<class S>() {
            int64_t k = begin;
            for_each_run(dst, begin, end - begin, 1, [&](char* out, int64_t n) {
                auto* to = reinterpret_cast<D*>(out);
                for_each_run(src, k, n, 1, [&](const char* in, int64_t run) {
                    simd::convert(to, reinterpret_cast<const S*>(in), run);
                    to += run;
                });
                k += n;
            });
        });
    });
    return true;
}

void convert_values(const ggml_tensor& src, const ggml_tensor& dst, int64_t begin, int64_t end) {
    if (convert_dense_rows(src, dst, begin, end)) return;
    constexpr int64_t kPiece = 256;
    float values[kPiece];
    for (int64_t k = begin; k < end; k += kPiece) {
        const int64_t n = std::min(kPiece, end - k);
        read_values(src, k, n, values);
        write_values(dst, k, n, values);
    }
}

// Into a contiguous quantised tensor: a row of it at a time.
void quantize_rows(const Task& task, const ggml_tensor& src, const ggml_tensor& dst) {
    const int64_t n = dst.ne[0];
    const auto encode = from_float(dst.type);
    float* buffer = row_buffer(task, n);
    for_each_row(task, dst, [&](int64_t i1, int64_t i2, int64_t i3) {
        read_values(src, ((i3 * dst.ne[2] + i2) * dst.ne[1] + i1) * n, n, buffer);
        encode(buffer, row<void>(dst, i1, i2, i3), n);
    });
}

// From a quantised tensor: block by block of the source.
void decode_blocks(const ggml_tensor& src, const ggml_tensor& dst, int64_t begin, int64_t end) {
    const quant::Format& format = *quant::find_format(src.type);
    const int64_t block = type_size(src.type).block;
    float values[256];
    int64_t k = begin;
    for_each_run(src, begin, end - begin, block, [&](const char* in, int64_t n) {
        for (int64_t i = 0; i < n; ++i, ++k) {
            format.to_float(in + i * src.nb[0], values, block);
            write_values(dst, k * block, block, values);
        }
    });
}

// ---- the kernel -------------------------------------------------------------------------------

Verdict supports(const ggml_tensor& node) {
    const ggml_tensor& src = *node.src[0];
    const TypeSize from = type_size(src.type), to = type_size(node.type);
    if (src.type == node.type) return yes();
    const bool plain_source = is_float_type(src.type) || src.type == GGML_TYPE_I32;
    const bool plain_target = is_float_type(node.type) || node.type == GGML_TYPE_I32;
    if (plain_source && plain_target) return yes();
    if (to.block > 1 && is_float_type(src.type)) {
        if (!from_float(node.type))
            return no(TENON_REASON_TYPE, "dst has a type without run-time quantizer");
        if (!is_contiguous(node))
            return no(TENON_REASON_STRIDES, "quantised dst is not contiguous");
        return yes();
    }
    if (from.block > 1 && is_float_type(node.type)) {
        if (!quant::find_format(src.type)->to_float)
            return no(TENON_REASON_TYPE, "src0 cannot be decoded");
        return yes();
    }
    return no(TENON_REASON_TYPE_MIX, "there is no conversion from the type of src0 to that of dst");
}

size_t workspace(const ggml_tensor& node, int n_threads) {
    if (node.src[0]->type == node.type || type_size(node.type).block == 1) return 0;
    return row_buffers_bytes(node.ne[0], n_threads);
}

// This member's share of n elements, in whole cache lines of single bytes.
Range share_elements(const Task& task, int64_t n) {
    const Range lines = share(task, (n + 63) / 64);
    return {std::min(lines.begin * 64, n), std::min(lines.end * 64, n)};
}

void run(const Task& task, const ggml_tensor& node) {
    const ggml_tensor& src = *node.src[0];
    if (node.type == src.type) {
        if (is_transposed_copy(src, node)) {
            if (type_size(src.type).bytes == 4) return copy_transposed<4>(task, src, node);
            return copy_transposed<2>(task, src, node);
        }
        const Range range =
            share_elements(task, tenon_nelements(&node) / type_size(node.type).block);
        if (range.begin < range.end) copy_same_type(src, node, range.begin, range.end);
        return;
    }
    if (type_size(node.type).block > 1) return quantize_rows(task, src, node);
    const int64_t block = type_size(src.type).block;
    const Range range = share_elements(task, tenon_nelements(&node) / block);
    if (range.begin >= range.end) return;
    if (block > 1) return decode_blocks(src, node, range.begin, range.end);
    convert_values(src, node, range.begin, range.end);
}

double slowness(const ggml_tensor& node) {
    if (type_size(node.type).block > 1 && node.src[0]->type != node.type) return kEncodingSlowness;
    return has_dense_rows(*node.src[0]) && has_dense_rows(node) ? 1 : 10;
}

}  // namespace

extern constinit const Kernel kDup{supports, run, workspace, slowness};
extern constinit const Kernel kCpy{supports, run, workspace, slowness};
extern constinit const Kernel kCont{supports, run, workspace, slowness};

}  // namespace tenon::cpu
