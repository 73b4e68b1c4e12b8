// The code books of tenon/codebooks.h, unpacked: bytes of values for decoding, digits for search.

#include "sdk/quant/iq_grids.h"

namespace tenon::quant {
namespace {

constexpr uint16_t kLevelsIq2xxs[] = {TENON_IQ2_XXS_POINTS};
constexpr uint16_t kLevelsIq2xs[] = {TENON_IQ2_XS_POINTS};
constexpr uint16_t kLevelsIq2s[] = {TENON_IQ2_S_POINTS};
constexpr uint16_t kLevelsIq3xxs[] = {TENON_IQ3_XXS_POINTS};
constexpr uint16_t kLevelsIq3s[] = {TENON_IQ3_S_POINTS};
constexpr uint16_t kLevelsIq1s[] = {TENON_IQ1_POINTS};

// Bytes of points with kBits bits per digit; the value of level l is values[l].
template <class Entry, int kBits, size_t kSize, size_t kLevels>
constexpr std::array<Entry, kSize> grid(const uint16_t (&points)[kSize],
                                        const int8_t (&values)[kLevels]) {
    std::array<Entry, kSize> entries{};
    for (size_t i = 0; i < kSize; ++i) {
        for (size_t e = 0; e < sizeof(Entry); ++e) {
            const int level = points[i] >> kBits * e & ((1 << kBits) - 1);
            entries[i] |= static_cast<Entry>(static_cast<uint8_t>(values[level])) << 8 * e;
        }
    }
    return entries;
}

template <int kBits, int kLevels, size_t kSize>
constexpr CodeBook book(const uint16_t (&points)[kSize]) {
    for (size_t i = 1; i < kSize; ++i) {
        if (points[i - 1] >= points[i]) throw "points must ascend";
    }
    return {points, static_cast<int>(kSize), kBits == 2 ? 8 : 4, kBits, kLevels};
}

constexpr int8_t kValuesIq2[] = {TENON_IQ2_LEVELS};
constexpr int8_t kValuesIq3xxs[] = {TENON_IQ3_XXS_LEVELS};
constexpr int8_t kValuesIq3s[] = {TENON_IQ3_S_LEVELS};
constexpr int8_t kValuesIq1[] = {TENON_IQ1_LEVELS};

}  // namespace

constinit const std::array<uint64_t, 256> kGridIq2xxs =
    grid<uint64_t, 2>(kLevelsIq2xxs, kValuesIq2);
constinit const std::array<uint64_t, 512> kGridIq2xs = grid<uint64_t, 2>(kLevelsIq2xs, kValuesIq2);
constinit const std::array<uint64_t, 1024> kGridIq2s = grid<uint64_t, 2>(kLevelsIq2s, kValuesIq2);
constinit const std::array<uint32_t, 256> kGridIq3xxs =
    grid<uint32_t, 3>(kLevelsIq3xxs, kValuesIq3xxs);
constinit const std::array<uint32_t, 512> kGridIq3s = grid<uint32_t, 3>(kLevelsIq3s, kValuesIq3s);
constinit const std::array<uint64_t, 2048> kGridIq1s = grid<uint64_t, 2>(kLevelsIq1s, kValuesIq1);

constinit const CodeBook kBookIq2xxs = book<2, 3>(kLevelsIq2xxs);
constinit const CodeBook kBookIq2xs = book<2, 3>(kLevelsIq2xs);
constinit const CodeBook kBookIq2s = book<2, 3>(kLevelsIq2s);
constinit const CodeBook kBookIq3xxs = book<3, 8>(kLevelsIq3xxs);
constinit const CodeBook kBookIq3s = book<3, 8>(kLevelsIq3s);
constinit const CodeBook kBookIq1s = book<2, 3>(kLevelsIq1s);

}  // namespace tenon::quant
