// The error bounds that simd/vmath.h states, measured against the C library in double.

#include "plugins/cpu/simd/vmath.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace tenon::cpu::simd {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

// Distance in units in the last place of the exact value; 0 for equal infinities and two NaN.
double error_in_ulp(float got, double exact) {
    const auto want = static_cast<float>(exact);
    if (std::isnan(got) || std::isnan(want)) return std::isnan(got) == std::isnan(want) ? 0 : 1e30;
    if (std::isinf(got) || std::isinf(want)) return got == want ? 0 : 1e30;
    const double step = std::nextafter(std::fabs(want), kInf) - std::fabs(want);
    return std::fabs(got - exact) / step;
}

template <class Fn, class Exact>
void expect_bound(double bound, float low, float high, Fn fn, Exact exact) {
    double worst = 0;
    float worst_at = 0;
    const auto check = [&](float x) {
        if (!(x >= low && x <= high)) return;
        float lanes[f32::lanes];
        store(lanes, fn(splat(x)));
        const double error = error_in_ulp(lanes[f32::lanes - 1], exact(static_cast<double>(x)));
        if (error > worst) worst = error, worst_at = x;
    };
    std::mt19937 random(11);
    for (int i = 0; i < 100000; ++i) check(std::bit_cast<float>(static_cast<uint32_t>(random())));
    std::uniform_real_distribution<float> wide(-120, 120), near(-2, 2);
    for (int i = 0; i < 100000; ++i) check(wide(random)), check(near(random));
    for (float x :
         {0.0f, -0.0f, kInf, -kInf, 1e-40f, -1e-40f, 88.72f, 88.73f, -87.4f, -103.9f, -104.5f})
        check(x);
    EXPECT_LE(worst, bound) << "at " << worst_at;

    float lanes[f32::lanes];
    store(lanes, fn(splat(std::numeric_limits<float>::quiet_NaN())));
    EXPECT_TRUE(std::isnan(lanes[0]));
}

TEST(VectorMath, Exponentials) {
    expect_bound(
        2, -kInf, kInf, [](f32 x) { return exp(x); }, [](double x) { return std::exp(x); });
    expect_bound(
        3, -kInf, kInf, [](f32 x) { return expm1(x); }, [](double x) { return std::expm1(x); });
}

TEST(VectorMath, Logarithms) {
    expect_bound(
        2, -kInf, kInf, [](f32 x) { return log(x); }, [](double x) { return std::log(x); });
    expect_bound(
        3, 0, kInf, [](f32 x) { return log1p_positive(x); },
        [](double x) { return std::log1p(x); });
}

TEST(VectorMath, Sigmoids) {
    expect_bound(
        4, -80, kInf, [](f32 x) { return sigmoid(x); },
        [](double x) { return 1 / (1 + std::exp(-x)); });
    expect_bound(
        4, -kInf, kInf, [](f32 x) { return tanh(x); }, [](double x) { return std::tanh(x); });
    expect_bound(
        3, -kInf, kInf, [](f32 x) { return erf(x); }, [](double x) { return std::erf(x); });
    expect_bound(
        4, -80, kInf, [](f32 x) { return silu(x); },
        [](double x) { return x / (1 + std::exp(-x)); });
    expect_bound(
        4, -80, kInf, [](f32 x) { return softplus(x); },
        [](double x) { return x > 20 ? x : std::log1p(std::exp(x)); });
}

TEST(VectorMath, SinesAwayFromTheirZeros) {
    std::mt19937 random(5);
    std::uniform_real_distribution<float> any_turn(-8000, 8000);
    for (int i = 0; i < 200000; ++i) {
        const float x = i % 2 ? any_turn(random) : any_turn(random) / 1000;
        float s[f32::lanes], c[f32::lanes];
        store(s, sin(splat(x)));
        store(c, cos(splat(x)));
        ASSERT_NEAR(s[0], std::sin(static_cast<double>(x)), 1.5e-7) << x;
        ASSERT_NEAR(c[0], std::cos(static_cast<double>(x)), 1.5e-7) << x;
    }
    for (float x : {1e5f, -3e20f}) {
        float s[f32::lanes];
        store(s, sin(splat(x)));
        EXPECT_FLOAT_EQ(s[0], std::sin(x));
    }
}

TEST(VectorMath, GelusFollowTheirFormulas) {
    for (float x = -12; x < 12; x += 0.001f) {
        const double y = 0.79788456080286535588 * x * (1 + 0.044715 * static_cast<double>(x) * x);
        float a[f32::lanes], b[f32::lanes], c[f32::lanes];
        store(a, gelu(splat(x)));
        store(b, gelu_erf(splat(x)));
        store(c, gelu_quick(splat(x)));
        ASSERT_NEAR(a[0], 0.5 * x * (1 + std::tanh(y)), 1e-6) << x;
        ASSERT_NEAR(b[0], 0.5 * x * (1 + std::erf(x * 0.70710678118654752440)), 1e-6) << x;
        ASSERT_NEAR(c[0], x / (1 + std::exp(-1.702 * x)), 2e-6) << x;
    }
}

}  // namespace
}  // namespace tenon::cpu::simd
