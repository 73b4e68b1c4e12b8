// ALiBi: the slope by which a head's mask is multiplied.
#pragma once

#include <cmath>
#include <cstdint>

namespace tenon::cpu {

inline float alibi_slope(int64_t head, int64_t n_heads, float max_bias) {
    if (max_bias <= 0) return 1.0f;
    int64_t n = 1;
    while (2 * n <= n_heads) n *= 2;
    const float m0 = std::pow(2.0f, -max_bias / static_cast<float>(n));
    const float m1 = std::pow(2.0f, -(max_bias / 2) / static_cast<float>(n));
    return head < n ? std::pow(m0, static_cast<float>(head + 1))
                    : std::pow(m1, static_cast<float>(2 * (head - n) + 1));
}

}  // namespace tenon::cpu
