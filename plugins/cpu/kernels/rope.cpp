// ROPE, ROPE_BACK: pairs of elements of each row are rotated by an angle that grows with the
// position and falls with the index of the pair. Sines and cosines are made once per position.

#include <cmath>

#include "plugins/cpu/kernel.h"
#include "plugins/cpu/simd/vmath.h"

namespace tenon::cpu {
namespace {

using simd::f32;

bool is_multi(int32_t mode) { return (mode & TENON_ROPE_MULTI) != 0; }

int64_t pairs_of(const ggml_tensor& node, const tenon_rope_params& p) {
    return p.mode == TENON_ROPE_VISION ? node.ne[0] / 2 : p.n_dims / 2;
}

Verdict check_mode(const ggml_tensor& node, const tenon_rope_params& p) {
    const int64_t n = node.ne[0];
    switch (p.mode) {
        case TENON_ROPE_NORMAL:
        case TENON_ROPE_NEOX:
        case TENON_ROPE_MROPE:
        case TENON_ROPE_VISION:
        case TENON_ROPE_IMROPE:
            break;
        default:
            return no(TENON_REASON_OP_PARAM, "unknown rotation mode");
    }
    if (p.n_dims % 2 != 0) return no(TENON_REASON_OP_PARAM, "n_dims is odd");
    if (p.n_dims < 0 || p.n_dims > n)  // 0 rotates nothing
        return no(TENON_REASON_OP_PARAM, "n_dims exceeds the row");
    if (p.n_offs < 0 || p.n_offs % 2 != 0 || int64_t{p.n_offs} + p.n_dims > n) {
        return no(TENON_REASON_OP_PARAM, "the rotated window does not lie inside the row");
    }
    if (p.mode == TENON_ROPE_VISION && (p.n_dims * int64_t{2} != n || p.n_offs != 0)) {
        return no(TENON_REASON_OP_PARAM, "vision mode needs n_dims of half a row and no offset");
    }
    if (!is_multi(p.mode)) return yes();
    int64_t total = 0;
    for (int32_t section : p.sections) {
        if (section < 0) return no(TENON_REASON_OP_PARAM, "a section is negative");
        total += section;
    }
    if (p.n_dims > 0 && p.sections[0] + int64_t{p.sections[1]} + p.sections[2] == 0) {
        return no(TENON_REASON_OP_PARAM, "the first three sections are empty");
    }
    if (total > n) return no(TENON_REASON_OP_PARAM, "sections exceed the row");
    return yes();
}

Verdict supports(const ggml_tensor& node) {
    const ggml_tensor& x = *node.src[0];
    const ggml_tensor* factors = node.src[2];
    const auto p = params_of<tenon_rope_params>(node);
    if (!is_float_type(x.type)) return no(TENON_REASON_TYPE, "src0 must be f32, f16 or bf16");
    if (!has_dense_rows(x) || !has_dense_rows(node)) {
        return no(TENON_REASON_STRIDES, "rows are not dense");
    }
    if (const Verdict verdict = check_mode(node, p); !verdict) return verdict;
    if (factors && factors->ne[0] < pairs_of(node, p))
        return no(TENON_REASON_SHAPE, "there are fewer factors than pairs");
    return yes();
}

// What a node's angles are made of, apart from the position.
struct Angles {
    tenon_rope_params p;
    int64_t pairs, tokens;
    const ggml_tensor* positions;
    const float* factors;  // or NULL
    double step;           // the base angle falls by this from pair to pair
    float low, high;       // YaRN: pairs between which interpolation gives way to extrapolation
    float magnitude;
    bool back;

    explicit Angles(const ggml_tensor& node)
        : p(params_of<tenon_rope_params>(node)),
          pairs(pairs_of(node, p)),
          tokens(node.ne[2]),
          positions(node.src[1]),
          factors(node.src[2] ? static_cast<const float*>(node.src[2]->data) : nullptr),
          step(std::pow(static_cast<double>(p.freq_base), -2.0 / p.n_dims)),
          magnitude(p.attn_factor),
          back(node.op == GGML_OP_ROPE_BACK) {
        const auto pair_of = [&](float rotations) {
            return static_cast<float>(p.n_dims) *
                   std::log(static_cast<float>(p.n_ctx_orig) /
                            (rotations * 2 * 3.14159265358979f)) /
                   (2 * std::log(p.freq_base));
        };
        low = std::max(0.0f, std::floor(pair_of(p.beta_fast)));
        high = std::min(static_cast<float>(p.n_dims - 1), std::ceil(pair_of(p.beta_slow)));
        if (p.ext_factor != 0) magnitude *= 1.0f + 0.1f * std::log(1.0f / p.freq_scale);
    }

    // Which of the four position streams pair j follows, and the pair its angle restarts at.
    struct Stream {
        int64_t index, first;
    };
    Stream stream_of(int64_t j) const {
        if (!is_multi(p.mode)) return {0, 0};
        const int64_t s0 = p.sections[0], s1 = p.sections[1], s2 = p.sections[2];
        const int64_t q = j % (s0 + s1 + s2 + p.sections[3]);
        if (p.mode == TENON_ROPE_IMROPE) {
            if (q % 3 == 1 && q < 3 * s1) return {1, 0};
            if (q % 3 == 2 && q < 3 * s2) return {2, 0};
            if (q % 3 == 0 && q < 3 * s0) return {0, 0};
            return {3, 0};
        }
        const int64_t index = q < s0 ? 0 : q < s0 + s1 ? 1 : q < s0 + s1 + s2 ? 2 : 3;
        if (p.mode != TENON_ROPE_VISION) return {index, 0};
        const int64_t starts[4] = {0, s0, s0 + s1, s0 + s1 + s2};
        // Vision restarts the angles with each section: count from there, not from pair 0.
        return {index, j - (q - starts[index])};
    }

    double angle(int64_t j, double base) const {
        const double theta = factors ? base / factors[j] : base;
        const double scaled = p.freq_scale * theta;
        if (p.ext_factor == 0) return scaled;
        const float y = (static_cast<float>(j) - low) / std::max(0.001f, high - low);
        const float ramp = (1 - std::min(1.0f, std::max(0.0f, y))) * p.ext_factor;
        return scaled * (1 - ramp) + theta * ramp;
    }

    // (c0, c1 …) -> (c0, c0, c1, c1 …) and (s0, s1 …) -> (-s0, s0, -s1, s1 …): see
    // rotate_neighbours.
    void double_up(float* cosines, float* sines) const {
        for (int64_t j = pairs - 1; j >= 0; --j) {
            cosines[2 * j] = cosines[2 * j + 1] = cosines[j];
            const float s = sines[j];
            sines[2 * j] = -s;
            sines[2 * j + 1] = s;
        }
    }

    // cosines[j], sines[j] for token t, already scaled; in mode 0 laid out for neighbours.
    void fill(int64_t t, float* cosines, float* sines) const {
        double power = 1;
        int64_t power_of = 0;  // power = step^power_of
        for (int64_t j = 0; j < pairs; ++j) {
            const Stream stream = stream_of(j);
            const int64_t exponent = j - stream.first;
            if (exponent == power_of + 1) {
                power *= step;
            } else if (exponent != power_of) {
                power = std::pow(step, static_cast<double>(exponent));
            }
            power_of = exponent;
            const double position =
                *element<const int32_t>(*positions, t + tokens * stream.index, 0, 0, 0);
            // Whole turns are dropped in double, so that f32 is enough for the rest.
            constexpr double kTurn = 6.283185307179586476925;
            const double phi = angle(j, position * power);
            cosines[j] = static_cast<float>(phi - kTurn * std::nearbyint(phi / kTurn));
        }
        const f32 scale = simd::splat(magnitude),
                  signed_scale = simd::splat(back ? -magnitude : magnitude);
        simd::map(sines, cosines, pairs, [=](f32 x) { return simd::sin(x) * signed_scale; });
        simd::map(cosines, cosines, pairs, [=](f32 x) { return simd::cos(x) * scale; });
        if (p.mode == TENON_ROPE_NORMAL) double_up(cosines, sines);
    }
};

size_t table_floats(const ggml_tensor& node) {  // cosines and sines of one token
    return (static_cast<size_t>(node.ne[0]) + 15) / 16 * 16;
}

size_t workspace(const ggml_tensor& node, int n_threads) {
    return 2 * table_floats(node) * sizeof(float) * static_cast<size_t>(n_threads);
}

// Neighbours (x[2j], x[2j+1]): x*C + swapped*S, where C = (c0, c0, c1, c1 …), S = (-s0, s0, -s1 …).
template <class T>
void rotate_neighbours(T* dst, const T* src, int64_t n, const float* cosines, const float* sines) {
    const auto rotate = [](f32 x, f32 c, f32 s) {
        return simd::fma(x, c, simd::swap_neighbours(x) * s);
    };
    int64_t i = 0;
    for (; i + f32::lanes <= n; i += f32::lanes) {
        simd::store(dst + i,
                    rotate(simd::load(src + i), simd::load(cosines + i), simd::load(sines + i)));
    }
    if (const int rest = static_cast<int>(n - i)) {  // even, as n is
        simd::store_some(dst + i,
                         rotate(simd::load_some(src + i, rest), simd::load_some(cosines + i, rest),
                                simd::load_some(sines + i, rest)),
                         rest);
    }
}

// Halves (x[j], x[j + distance])
template <class T>
void rotate_halves(T* dst, const T* src, int64_t pairs, int64_t distance, const float* cosines,
                   const float* sines) {
    int64_t j = 0;
    for (; j + f32::lanes <= pairs; j += f32::lanes) {
        const f32 x = simd::load(src + j), y = simd::load(src + j + distance);
        const f32 c = simd::load(cosines + j), s = simd::load(sines + j);
        simd::store(dst + j, simd::fnma(y, s, x * c));
        simd::store(dst + j + distance, simd::fma(x, s, y * c));
    }
    for (; j < pairs; ++j) {
        const float x = simd::to_f32(src[j]), y = simd::to_f32(src[j + distance]);
        simd::set_f32(&dst[j], x * cosines[j] - y * sines[j]);
        simd::set_f32(&dst[j + distance], x * sines[j] + y * cosines[j]);
    }
}

template <class T>
void rotate_row(T* dst, const T* src, int64_t n, const Angles& angles, const float* cosines,
                const float* sines) {
    const tenon_rope_params& p = angles.p;
    const int64_t end = p.n_offs + 2 * angles.pairs;
    if (dst != src) {
        std::memcpy(dst, src, static_cast<size_t>(p.n_offs) * sizeof(T));
        std::memcpy(dst + end, src + end, static_cast<size_t>(n - end) * sizeof(T));
    }
    if (p.mode == TENON_ROPE_NORMAL) {
        rotate_neighbours(dst + p.n_offs, src + p.n_offs, 2 * angles.pairs, cosines, sines);
    } else {
        const int64_t distance = p.mode == TENON_ROPE_VISION ? p.n_dims : p.n_dims / 2;
        rotate_halves(dst + p.n_offs, src + p.n_offs, angles.pairs, distance, cosines, sines);
    }
}

void run(const Task& task, const ggml_tensor& node) {
    const ggml_tensor& x = *node.src[0];
    const Angles angles(node);
    const size_t floats = table_floats(node);
    float* cosines = static_cast<float*>(task.workspace) + 2 * floats * task.ith;
    float* sines = cosines + floats;

    with_float_type(x.type, [&]<class T>() {
        int64_t filled = -1;
        // Heads are the fastest index of the rows, so a token's table serves all its heads.
        for_each_row(task, node, [&](int64_t head, int64_t token, int64_t batch) {
            if (token != filled) angles.fill(token, cosines, sines);
            filled = token;
            rotate_row(row<T>(node, head, token, batch), row<const T>(x, head, token, batch),
                       x.ne[0], angles, cosines, sines);
        });
    });
}

// The angles are computed in double, one by one.
double slowness(const ggml_tensor&) { return 5; }

}  // namespace

extern constinit const Kernel kRope =
    Kernel{supports, run, workspace, slowness}.with({Parts::kRows, 0b1, 0, /*dim=*/2});
extern constinit const Kernel kRopeBack =
    Kernel{supports, run, workspace, slowness}.with({Parts::kRows, 0b1, 0, /*dim=*/2});

}  // namespace tenon::cpu
