// Sizes: rounding, and arithmetic that reports overflow instead of wrapping.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tenon {

constexpr bool is_power_of_two(uint64_t x) { return x != 0 && (x & (x - 1)) == 0; }
constexpr uint64_t align_up(uint64_t x, uint64_t a) {
    return (x + a - 1) & ~(a - 1);
}  // a: power of two
constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// False, and *out untouched, when the result does not fit.
[[nodiscard]] inline bool add_size(size_t a, size_t b, size_t* out) {
    size_t r;
    if (__builtin_add_overflow(a, b, &r)) return false;
    *out = r;
    return true;
}
[[nodiscard]] inline bool mul_size(size_t a, size_t b, size_t* out) {
    size_t r;
    if (__builtin_mul_overflow(a, b, &r)) return false;
    *out = r;
    return true;
}
[[nodiscard]] inline bool align_up_size(size_t x, size_t a, size_t* out) {
    size_t r;
    if (!add_size(x, a - 1, &r)) return false;
    *out = r & ~(a - 1);
    return true;
}
// Whether [offset, offset + size) lies inside [0, limit).
constexpr bool range_fits(size_t offset, size_t size, size_t limit) {
    return size <= limit && offset <= limit - size;
}

}  // namespace tenon
