// Importance that says nothing; declared in importance.h.

#include "sdk/quant/importance.h"

#include <algorithm>
#include <cmath>

namespace tenon::quant {
namespace {

// What is smaller beside the largest of its kind makes no difference: importance does not change a
// sum of floats, an element is zero for what a few bits can tell.
constexpr float kFelt = 0x1p-24f;
constexpr float kSeen = 0x1p-10f;

// Beyond these, products with elements and codes might leave the range of floats.
constexpr float kLeast = 0x1p-60f, kMost = 0x1p60f;

// A power of four, so that square roots are scaled exactly, too.
double scale_to_one(float largest) {
    int exponent;
    std::frexp(largest, &exponent);
    return std::ldexp(1.0, -(exponent & ~1));
}

// Whether an element that matters has importance that is felt, or there is no such element.
bool tells(const float* x, const float* importance, int n, float least) {
    float magnitude = 0;
    for (int i = 0; i < n; ++i) magnitude = std::max(magnitude, std::fabs(x[i]));
    if (magnitude == 0) return true;
    for (int i = 0; i < n; ++i) {
        if (importance[i] > least && std::fabs(x[i]) > kSeen * magnitude) return true;
    }
    return false;
}

bool is_zero(const float* x, int n) {
    return std::all_of(x, x + n, [](float v) { return v == 0; });
}

// What a column without importance counts.
float little(const float* importance, int n, float least) {
    float sum = 0, smallest = HUGE_VALF;
    int felt = 0;
    for (int i = 0; i < n; ++i) {
        if (!(importance[i] > least)) continue;
        sum += importance[i];
        smallest = std::min(smallest, importance[i]);
        ++felt;
    }
    return std::min(smallest, sum / static_cast<float>(64 * felt));
}

}  // namespace

const float* telling_importance(const float* x, const float* importance, int n, int sub,
                                float* room) {
    const float largest = *std::max_element(importance, importance + n);
    if (!(largest > 0)) return nullptr;
    const double scale = largest < kLeast || largest > kMost ? scale_to_one(largest) : 1;
    const float least = kFelt * static_cast<float>(largest * scale);
    for (int i = 0; i < n; ++i) room[i] = static_cast<float>(importance[i] * scale);
    if (std::all_of(room, room + n, [&](float v) { return v > least; })) {
        return scale == 1 ? importance : room;
    }
    const float floor = little(room, n, least);
    bool any = false;
    for (int at = 0; at < n; at += sub) {
        const bool telling = tells(x + at, room + at, sub, least);
        any |= telling && !is_zero(x + at, sub);
        for (int i = at; i < at + sub; ++i) {
            if (!telling || !(room[i] > least)) room[i] = floor;
        }
    }
    return any ? room : nullptr;
}

}  // namespace tenon::quant
