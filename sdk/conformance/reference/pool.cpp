// References: pooling and resampling.

#include <algorithm>
#include <cfloat>
#include <cmath>

#include "sdk/conformance/oracle.h"

namespace tenon::conformance {
namespace {

// ---- pooling ----------------------------------------------------------------------------------

void pool_1d(const ggml_tensor& node, Result& out) {
    const auto p = params_of<tenon_pool_1d_params>(node);
    const Values a = source(node, 0);
    for_each_index(out, [&](int64_t x, int64_t i1, int64_t i2, int64_t i3) {
        double sum = 0, largest = -FLT_MAX;
        int64_t n = 0;
        for (int64_t i = x * p.s0 - p.p0; i < x * p.s0 - p.p0 + p.k0; ++i) {
            if (i < 0 || i >= a.ne[0]) continue;
            sum += a(i, i1, i2, i3);
            largest = std::max(largest, a(i, i1, i2, i3));
            ++n;
        }
        const double mean = n > 0 ? sum / static_cast<double>(n) : 0.0;
        out(x, i1, i2, i3) = p.op == GGML_OP_POOL_MAX ? largest : mean;
    });
}

// fn(ix, iy) for the elements of a window that are not padding, row by row.
template <class Fn>
void for_each_in_window(const tenon_pool_2d_params& p, const Values& plane, int64_t x, int64_t y,
                        Fn&& fn) {
    for (int64_t ky = 0; ky < p.k1; ++ky) {
        for (int64_t kx = 0; kx < p.k0; ++kx) {
            const int64_t ix = x * p.s0 - p.p0 + kx, iy = y * p.s1 - p.p1 + ky;
            if (ix >= 0 && ix < plane.ne[0] && iy >= 0 && iy < plane.ne[1]) fn(ix, iy);
        }
    }
}

void pool_2d(const ggml_tensor& node, Result& out) {
    const auto p = params_of<tenon_pool_2d_params>(node);
    const Values a = source(node, 0);
    for_each_index(out, [&](int64_t x, int64_t y, int64_t i2, int64_t i3) {
        double sum = 0, largest = -FLT_MAX;
        for_each_in_window(p, a, x, y, [&](int64_t ix, int64_t iy) {
            sum += a(ix, iy, i2, i3);
            largest = std::max(largest, a(ix, iy, i2, i3));
        });
        out(x, y, i2, i3) = p.op == GGML_OP_POOL_MAX ? largest : sum / (p.k0 * p.k1);
    });
}

void pool_2d_back(const ggml_tensor& node, Result& out) {
    const auto p = params_of<tenon_pool_2d_back_params>(node);
    const Values grad = source(node, 0), a = source(node, 1);
    std::fill(out.v.begin(), out.v.end(), 0.0);
    for_each_index(grad, [&](int64_t x, int64_t y, int64_t i2, int64_t i3) {
        const double g = grad(x, y, i2, i3);
        double largest = -FLT_MAX;
        double* winner = nullptr;
        for_each_in_window(p, a, x, y, [&](int64_t ix, int64_t iy) {
            if (p.op == GGML_OP_POOL_AVG) {
                out(ix, iy, i2, i3) += g / (p.k0 * p.k1);
            } else if (a(ix, iy, i2, i3) > largest) {
                largest = a(ix, iy, i2, i3);
                winner = &out(ix, iy, i2, i3);
            }
        });
        if (winner) *winner += g;
    });
}

// ---- resampling -------------------------------------------------------------------------------

// Along one axis: the ratio of the sizes and where pixels lie. Both are floats by definition: which
// pixels are used depends on how they round.
struct Sampled {
    int64_t n;  // of the source
    float scale, offset;

    Sampled(const ggml_tensor& node, int dim, bool corners)
        : n(node.src[0]->ne[dim]), offset(corners && dim < 2 ? 0.0f : 0.5f) {
        const int64_t n_out = node.ne[dim];
        const bool between = corners && dim < 2 && n > 1 && n_out > 1;
        scale = between ? static_cast<float>(n_out - 1) / static_cast<float>(n - 1)
                        : static_cast<float>(n_out) / static_cast<float>(n);
    }
    int64_t clamped(int64_t i) const { return std::clamp<int64_t>(i, 0, n - 1); }
    int64_t nearest(int64_t i) const {
        return clamped(static_cast<int64_t>(static_cast<float>(i) / scale));
    }
    float centre(int64_t i) const { return (static_cast<float>(i) + offset) / scale; }
    float radius() const { return std::max(1.0f, 1.0f / scale); }
    double position(int64_t i) const { return (static_cast<double>(i) + offset) / scale - offset; }
};

double bilinear(const Values& a, const Sampled& sx, const Sampled& sy, int64_t x, int64_t y,
                int64_t i2, int64_t i3) {
    const double u = sx.position(x), v = sy.position(y);
    const auto below_x = static_cast<int64_t>(std::floor(u));
    const auto below_y = static_cast<int64_t>(std::floor(v));
    const int64_t x0 = sx.clamped(below_x), x1 = sx.clamped(below_x + 1);
    const int64_t y0 = sy.clamped(below_y), y1 = sy.clamped(below_y + 1);
    const double wx = std::clamp(u - static_cast<double>(x0), 0.0, 1.0);
    const double wy = std::clamp(v - static_cast<double>(y0), 0.0, 1.0);
    const double above = a(x0, y0, i2, i3) * (1 - wx) + a(x1, y0, i2, i3) * wx;
    const double below = a(x0, y1, i2, i3) * (1 - wx) + a(x1, y1, i2, i3) * wx;
    return above * (1 - wy) + below * wy;
}

double antialiased(const Values& a, const Sampled& sx, const Sampled& sy, int64_t x, int64_t y,
                   int64_t i2, int64_t i3) {
    const auto first = [](const Sampled& s, int64_t i) {
        return std::max<int64_t>(static_cast<int64_t>(s.centre(i) - s.radius() + s.offset), 0);
    };
    const auto end = [](const Sampled& s, int64_t i) {
        return std::min<int64_t>(static_cast<int64_t>(s.centre(i) + s.radius() + s.offset), s.n);
    };
    const auto weight = [](const Sampled& s, int64_t i, int64_t j) {
        const double distance = static_cast<double>(j) - s.centre(i) + s.offset;
        return std::max(0.0, 1.0 - std::fabs(distance / s.radius()));
    };
    double sum = 0, total = 0;
    for (int64_t j = first(sy, y); j < end(sy, y); ++j) {
        for (int64_t i = first(sx, x); i < end(sx, x); ++i) {
            const double w = weight(sx, x, i) * weight(sy, y, j);
            sum += w * a(i, j, i2, i3);
            total += w;
        }
    }
    return total > 0 ? sum / total : 0.0;
}

// Keys' kernel with a = -0.75 at a distance of z.
double keys(double z) {
    constexpr double a = -0.75;
    z = std::fabs(z);
    return z <= 1 ? ((a + 2) * z - (a + 3)) * z * z + 1 : ((a * z - 5 * a) * z + 8 * a) * z - 4 * a;
}

double bicubic(const Values& a, const Sampled& sx, const Sampled& sy, int64_t x, int64_t y,
               int64_t i2, int64_t i3) {
    const double u = sx.position(x), v = sy.position(y);
    const auto x0 = static_cast<int64_t>(std::floor(u)), y0 = static_cast<int64_t>(std::floor(v));
    double sum = 0;
    for (int64_t j = y0 - 1; j <= y0 + 2; ++j) {
        for (int64_t i = x0 - 1; i <= x0 + 2; ++i) {
            sum += keys(u - static_cast<double>(i)) * keys(v - static_cast<double>(j)) *
                   a(sx.clamped(i), sy.clamped(j), i2, i3);
        }
    }
    return sum;
}

void upscale(const ggml_tensor& node, Result& out) {
    const int32_t mode = params_of<tenon_upscale_params>(node).mode;
    const bool corners = (mode & GGML_SCALE_FLAG_ALIGN_CORNERS) != 0;
    const Values a = source(node, 0);
    const Sampled sx(node, 0, corners), sy(node, 1, corners), s2(node, 2, corners),
        s3(node, 3, corners);
    for_each_index(out, [&](int64_t x, int64_t y, int64_t i2, int64_t i3) {
        const int64_t k2 = s2.nearest(i2), k3 = s3.nearest(i3);
        double& result = out(x, y, i2, i3);
        if ((mode & TENON_UPSCALE_MODE) == GGML_SCALE_MODE_NEAREST) {
            result = a(sx.nearest(x), sy.nearest(y), k2, k3);
        } else if ((mode & TENON_UPSCALE_MODE) == GGML_SCALE_MODE_BICUBIC) {
            result = bicubic(a, sx, sy, x, y, k2, k3);
        } else if (mode & GGML_SCALE_FLAG_ANTIALIAS) {
            result = antialiased(a, sx, sy, x, y, k2, k3);
        } else {
            result = bilinear(a, sx, sy, x, y, k2, k3);
        }
    });
}

constexpr Reference kTable[] = {
    {GGML_OP_POOL_1D, pool_1d},
    {GGML_OP_POOL_2D, pool_2d},
    {GGML_OP_POOL_2D_BACK, pool_2d_back},
    {GGML_OP_UPSCALE, upscale},
};

}  // namespace

const std::span<const Reference> kPoolReferences{kTable};

}  // namespace tenon::conformance
