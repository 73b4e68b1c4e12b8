// FLASH_ATTN_EXT, one piece: scores of a tile of positions, their softmax with a running maximum,
// and the weighted sum of the values.

#include <cmath>
#include <limits>
#include <numeric>

#include "plugins/cpu/dot/dot.h"
#include "plugins/cpu/kernels/alibi.h"
#include "plugins/cpu/kernels/flash_attn.h"
#include "plugins/cpu/simd/vmath.h"
#include "tenon/quant.h"

namespace tenon::cpu {
namespace {

using simd::f32;

constexpr int64_t kMaxRows = 48;  // of a block, a multiple of kStripCols
constexpr float kLowest = -std::numeric_limits<float>::infinity();

// Packing a tile of K into panels pays from so many rows on; 8-bit dot products are faster than
// that for longer.
int64_t fewest_rows_for_panels(ggml_type type) {
    return find_dot_type(type)->operand == Operand::kQ8 ? 24 : 8;
}

int64_t padded(int64_t floats) { return (floats + 15) / 16 * 16; }

// ---- values: out[r] += sum over j of weights[r][j] * values[j] ----------------------------------

struct Values {
    const float* weights;  // rows kKeyTile apart
    const char* values;    // n rows, `stride` bytes apart
    size_t stride;
    int64_t n;
    float* out;  // rows dv apart
    int64_t dv;
};

// R rows, V vectors of columns from c on; of the last vector `some` lanes count (V = 1).
template <class T, int R, int V>
void add_tile(const Values& x, int64_t row, int64_t c, int some = f32::lanes) {
    f32 acc[R][V];
    TENON_UNROLL
    for (auto& line : acc) {
        TENON_UNROLL
        for (f32& a : line) a = simd::splat(0.0f);
    }
    const float* weights = x.weights + row * kKeyTile;
    const char* values = x.values;
    for (int64_t j = 0; j < x.n; ++j, values += x.stride) {
        const T* at = reinterpret_cast<const T*>(values) + c;
        f32 v[V];
        TENON_UNROLL
        for (int i = 0; i < V; ++i) {
            v[i] = V > 1 || some == f32::lanes ? simd::load(at + i * f32::lanes)
                                               : simd::load_some(at, some);
        }
        TENON_UNROLL
        for (int r = 0; r < R; ++r) {
            const f32 w = simd::splat(weights[r * kKeyTile + j]);
            TENON_UNROLL
            for (int i = 0; i < V; ++i) acc[r][i] = simd::fma(v[i], w, acc[r][i]);
        }
    }
    TENON_UNROLL
    for (int r = 0; r < R; ++r) {
        float* dst = x.out + (row + r) * x.dv + c;
        if (V > 1 || some == f32::lanes) {
            TENON_UNROLL
            for (int i = 0; i < V; ++i) {
                float* p = dst + i * f32::lanes;
                simd::store(p, simd::load(p) + acc[r][i]);
            }
        } else {
            simd::store_some(dst, simd::load_some(dst, some) + acc[r][0], some);
        }
    }
}

template <class T, int R>
void add_rows(const Values& x, int64_t row) {
    constexpr int V = R == 1 ? 8 : R == 2 ? 4 : simd::kRegisters >= 32 ? 4 : 2;
    int64_t c = 0;
    for (; c + V * f32::lanes <= x.dv; c += V * f32::lanes) add_tile<T, R, V>(x, row, c);
    for (; c + f32::lanes <= x.dv; c += f32::lanes) add_tile<T, R, 1>(x, row, c);
    if (c < x.dv) add_tile<T, R, 1>(x, row, c, static_cast<int>(x.dv - c));
}

template <class T>
void add_all(const Values& x, int64_t n_rows) {
    int64_t r = 0;
    for (; r + 4 <= n_rows; r += 4) add_rows<T, 4>(x, r);
    for (; r + 2 <= n_rows; r += 2) add_rows<T, 2>(x, r);
    for (; r < n_rows; ++r) add_rows<T, 1>(x, r);
}

void decode_row(ggml_type type, const void* src, float* dst, int64_t n) {
    const bool is_float = with_float_type(
        type, [&]<class T>() { simd::convert(dst, static_cast<const T*>(src), n); });
    if (!is_float) quant::find_format(type)->to_float(src, dst, n);
}

// Sum of s[i] = e^(s[i] - most).
float exponentials(float* s, int64_t n, float most) {
    const f32 m = simd::splat(most);
    f32 sum = simd::splat(0.0f);
    int64_t i = 0;
    for (; i + f32::lanes <= n; i += f32::lanes) {
        const f32 e = simd::exp(simd::load(s + i) - m);
        simd::store(s + i, e);
        sum = sum + e;
    }
    float total = simd::sum(sum);
    if (const int rest = static_cast<int>(n - i)) {
        simd::store_some(s + i, simd::exp(simd::load_some(s + i, rest) - m), rest);
        for (; i < n; ++i) total += s[i];
    }
    return total;
}

}  // namespace

// ---- how a node is cut ------------------------------------------------------------------------

Attention::Attention(const ggml_tensor& result)
    : node(result),
      q(*result.src[0]),
      k(*result.src[1]),
      v(*result.src[2]),
      mask(result.src[3]),
      sinks(result.src[4]),
      params(params_of<tenon_flash_attn_ext_params>(result)),
      dk(q.ne[0]),
      dv(v.ne[0]),
      n_keys(k.ne[1]) {
    group = std::gcd(q.ne[2] / k.ne[2], q.ne[2] / v.ne[2]);
    rows = group * q.ne[1];
    block_rows = std::min(rows, kMaxRows);
    n_blocks = (rows + block_rows - 1) / block_rows;
    n_groups = q.ne[2] / group * q.ne[3];
    panels = block_rows >= fewest_rows_for_panels(k.type);
    decode_values = v.type != GGML_TYPE_F32 && (block_rows > 8 || !is_float_type(v.type));

    constexpr int64_t kPieces = 64, kShortestSplit = 512;
    const int64_t wanted = std::max<int64_t>(kPieces / (n_groups * n_blocks), 1);
    const int64_t possible = std::max<int64_t>(n_keys / kShortestSplit, 1);
    const int64_t parts = std::min(wanted, possible);
    const int64_t tiles = (n_keys + kKeyTile - 1) / kKeyTile;
    split = std::max<int64_t>((tiles + parts - 1) / parts, 1) * kKeyTile;
    n_splits = std::max<int64_t>((n_keys + split - 1) / split, 1);
}

size_t Attention::partials_bytes() const {
    if (n_splits == 1) return 0;
    const int64_t floats = n_pieces() * block_rows * partial_floats();
    return static_cast<size_t>(padded(floats)) * sizeof(float);
}

namespace {

// Where the parts of a member's scratch begin, in floats.
struct Layout {
    int64_t queries, strips, band, scores, values, out, most, sum, slopes, q8_rows, end;

    explicit Layout(const Attention& a) {
        int64_t next = 0;
        const auto take = [&next](int64_t floats) {
            const int64_t at = next;
            next += padded(floats);
            return at;
        };
        const bool q8 = !a.panels && find_dot_type(a.k.type)->operand == Operand::kQ8;
        const int64_t n_strips = (a.block_rows + kStripCols - 1) / kStripCols;
        queries = take(a.block_rows * a.dk);
        strips = take(a.panels ? n_strips * kStripCols * a.dk : 0);
        band = take(a.panels ? kBandRows * std::min(a.dk, kDepth) : 0);
        scores = take(a.block_rows * kKeyTile);
        values = take(a.decode_values ? kKeyTile * a.dv : 0);
        out = take(a.block_rows * a.dv);
        most = take(a.block_rows);
        sum = take(a.block_rows);
        slopes = take(a.block_rows);
        q8_rows = take(q8 ? a.block_rows * static_cast<int64_t>(Q8Row::bytes(a.dk) / 4) : 0);
        end = next;
    }
};

}  // namespace

size_t Attention::member_bytes() const {
    return static_cast<size_t>(Layout(*this).end) * sizeof(float);
}

// ---- one piece --------------------------------------------------------------------------------

AttentionPiece::AttentionPiece(const Attention& attention, void* scratch) : a_(attention) {
    const Layout at(attention);
    auto* base = static_cast<float*>(scratch);
    queries_ = base + at.queries;
    strips_ = base + at.strips;
    band_ = base + at.band;
    scores_ = base + at.scores;
    values_ = base + at.values;
    out_ = base + at.out;
    most_ = base + at.most;
    sum_ = base + at.sum;
    slopes_ = base + at.slopes;
    q8_rows_ = reinterpret_cast<char*>(base + at.q8_rows);
}

void AttentionPiece::compute(int64_t index) {
    const int64_t split = index % a_.n_splits, block = index / a_.n_splits;
    group_index_ = block / a_.n_blocks;
    row0_ = block % a_.n_blocks * a_.block_rows;
    n_rows_ = std::min(a_.block_rows, a_.rows - row0_);
    load_queries();
    simd::fill(out_, n_rows_ * a_.dv, 0.0f);
    std::fill(most_, most_ + n_rows_, kLowest);
    std::fill(sum_, sum_ + n_rows_, 0.0f);

    const int64_t end = std::min((split + 1) * a_.split, a_.n_keys);
    for (int64_t key = split * a_.split; key < end; key += kKeyTile) {
        const int64_t n = std::min(kKeyTile, end - key);
        if (a_.mask && all_masked(key, n)) continue;
        score(key, n);
        for (int64_t r = 0; r < n_rows_; ++r) weigh(r, key, n);
        add_values(key, n);
    }
}

void AttentionPiece::load_queries() {
    const float* rows[kMaxRows];
    for (int64_t r = 0; r < n_rows_; ++r) {
        const auto at = a_.row_of(group_index_, row0_ + r);
        float* dst = queries_ + r * a_.dk;
        decode_row(a_.q.type, row<const void>(a_.q, at.token, at.head, at.batch), dst, a_.dk);
        rows[r] = dst;
        slopes_[r] = alibi_slope(at.head, a_.q.ne[2], a_.params.max_bias);
    }
    if (a_.panels) {
        for (int64_t r = 0; r < n_rows_; r += kStripCols) {
            pack_strip(rows + r, std::min(kStripCols, n_rows_ - r), 0, a_.dk, strips_ + r * a_.dk);
        }
    } else if (find_dot_type(a_.k.type)->operand == Operand::kQ8) {
        for (int64_t r = 0; r < n_rows_; ++r) {
            quantize_q8_row(rows[r], q8_rows_ + r * static_cast<int64_t>(Q8Row::bytes(a_.dk)),
                            a_.dk);
        }
    }
}

// Whether no row of the block sees any of n positions.
bool AttentionPiece::all_masked(int64_t key, int64_t n) const {
    constexpr uint64_t kFour = 0xfc00fc00fc00fc00u;  // -inf
    const ggml_fp16_t* previous = nullptr;
    for (int64_t r = 0; r < n_rows_; ++r) {
        const ggml_fp16_t* mask = a_.mask_row(a_.row_of(group_index_, row0_ + r)) + key;
        if (mask == previous) continue;
        previous = mask;
        int64_t i = 0;
        for (; i + 4 <= n; i += 4) {
            uint64_t four;
            std::memcpy(&four, mask + i, sizeof four);
            if (four != kFour) return false;
        }
        for (; i < n; ++i) {
            if (mask[i] != (kFour & 0xffffu)) return false;
        }
    }
    return true;
}

// scores[r][j] = q[r] . k[key + j]
void AttentionPiece::score(int64_t key, int64_t n) {
    const auto at = a_.row_of(group_index_, 0);
    const int64_t head = at.head / (a_.q.ne[2] / a_.k.ne[2]);
    const char* keys = row<const char>(a_.k, key, head, at.batch);
    if (a_.panels) return score_by_panels(keys, n);
    const DotType& type = *find_dot_type(a_.k.type);
    const char* b[kMaxRows];
    float* dst[kMaxRows];
    for (int64_t r = 0; r < n_rows_; ++r) {
        b[r] = type.operand == Operand::kQ8
                   ? q8_rows_ + r * static_cast<int64_t>(Q8Row::bytes(a_.dk))
                   : reinterpret_cast<const char*>(queries_ + r * a_.dk);
        dst[r] = scores_ + r * kKeyTile;
    }
    type.tile({a_.dk, keys, a_.k.nb[1], n, b, dst, n_rows_});
}

void AttentionPiece::score_by_panels(const char* keys, int64_t n) {
    for (int64_t k0 = 0; k0 < a_.dk || k0 == 0; k0 += kDepth) {
        const int64_t depth = std::min(kDepth, a_.dk - k0);
        pack_band(a_.k.type, keys, a_.k.nb[1], n, k0, depth, band_);
        for (int64_t r = 0; r < n_rows_; r += kStripCols) {
            const int64_t n_cols = std::min(kStripCols, n_rows_ - r);
            float* dst[kStripCols];
            for (int64_t c = 0; c < n_cols; ++c) dst[c] = scores_ + (r + c) * kKeyTile;
            multiply(band_, n, strips_ + r * a_.dk + k0 * kStripCols, n_cols, depth, dst, k0 > 0);
        }
    }
}

// Scores of a row become weights e^(z - most); what was summed up before follows a new maximum.
void AttentionPiece::weigh(int64_t r, int64_t key, int64_t n) {
    float* s = scores_ + r * kKeyTile;
    const float cap = a_.params.logit_softcap;
    const f32 scale = simd::splat(cap == 0 ? a_.params.scale : a_.params.scale / cap);
    simd::map(s, s, n, [=](f32 x) { return x * scale; });
    if (cap != 0) {
        const f32 c = simd::splat(cap);
        simd::map(s, s, n, [=](f32 x) { return simd::tanh(x) * c; });
    }
    if (a_.mask) {
        const f32 slope = simd::splat(slopes_[r]);
        simd::map(s, s, a_.mask_row(a_.row_of(group_index_, row0_ + r)) + key, n,
                  [=](f32 x, f32 m) { return simd::fma(m, slope, x); });
    }
    const float most = simd::max_of(s, n, most_[r]);
    // Nothing seen yet: any finite number keeps -inf - (-inf) away.
    const float base = most == kLowest ? 0.0f : most;
    if (most != most_[r]) {
        const float factor = std::exp(most_[r] - base);
        if (most_[r] != kLowest) simd::scale(out_ + r * a_.dv, out_ + r * a_.dv, a_.dv, factor);
        sum_[r] *= factor;
        most_[r] = most;
    }
    sum_[r] += exponentials(s, n, base);
}

void AttentionPiece::add_values(int64_t key, int64_t n) {
    const auto at = a_.row_of(group_index_, 0);
    const int64_t head = at.head / (a_.q.ne[2] / a_.v.ne[2]);
    Values x{scores_, row<const char>(a_.v, key, head, at.batch), a_.v.nb[1], n, out_, a_.dv};
    if (!a_.decode_values) {
        with_float_type(a_.v.type, [&]<class T>() { add_all<T>(x, n_rows_); });
        return;
    }
    for (int64_t j = 0; j < n; ++j) {
        decode_row(a_.v.type, x.values + j * static_cast<int64_t>(x.stride), values_ + j * a_.dv,
                   a_.dv);
    }
    x.values = reinterpret_cast<const char*>(values_);
    x.stride = static_cast<size_t>(a_.dv) * sizeof(float);
    add_all<float>(x, n_rows_);
}

}  // namespace tenon::cpu
