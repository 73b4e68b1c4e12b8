// The tables that plugins include, as C and as C++ read them.

#include "tests/abi/codebooks.h"

#include <gtest/gtest.h>

#include <bit>
#include <string>
#include <vector>

#include "tenon/types.h"

extern "C" {
const codebooks* codebooks_of_c();
const tenon_type* types_of_c();
}

namespace {

uint64_t fnv1a(const std::vector<uint8_t>& bytes) {
    uint64_t hash = 0xcbf29ce484222325;
    for (uint8_t byte : bytes) hash = (hash ^ byte) * 0x100000001b3;
    return hash;
}

std::vector<uint8_t> bytes_of(const table& t) {
    return {t.numbers, t.numbers + t.n};  // modulo 256
}

// The values of all elements of all points, as decoders multiply them.
std::vector<uint8_t> values_of(const table& points, const table& levels, int elems) {
    std::vector<uint8_t> values;
    const int bits = elems == 8 ? 2 : 3;
    for (size_t p = 0; p < points.n; ++p) {
        for (int e = 0; e < elems; ++e) {
            const int digit = points.numbers[p] >> bits * e & ((1 << bits) - 1);
            EXPECT_LT(static_cast<size_t>(digit), levels.n) << "point " << p;
            values.push_back(static_cast<uint8_t>(levels.numbers[digit]));
        }
    }
    return values;
}

class Codebooks : public testing::TestWithParam<const codebooks*> {};

// Hashes of the values published for each format, not of what the header says.
TEST_P(Codebooks, PointsHaveThePublishedValues) {
    const codebooks& books = *GetParam();
    EXPECT_EQ(books.iq2_xxs.n, 256u);
    EXPECT_EQ(fnv1a(values_of(books.iq2_xxs, books.iq2_levels, 8)), 0xbb4ee025b5ac6e8eu);
    EXPECT_EQ(books.iq2_xs.n, 512u);
    EXPECT_EQ(fnv1a(values_of(books.iq2_xs, books.iq2_levels, 8)), 0xc9b1ee61e79909bdu);
    EXPECT_EQ(books.iq2_s.n, 1024u);
    EXPECT_EQ(fnv1a(values_of(books.iq2_s, books.iq2_levels, 8)), 0x123edd38a3b62b90u);
    EXPECT_EQ(books.iq3_xxs.n, 256u);
    EXPECT_EQ(fnv1a(values_of(books.iq3_xxs, books.iq3_xxs_levels, 4)), 0xdfa5dc83d6a155d5u);
    EXPECT_EQ(books.iq3_s.n, 512u);
    EXPECT_EQ(fnv1a(values_of(books.iq3_s, books.iq3_s_levels, 4)), 0xfa37020c25b44829u);
    EXPECT_EQ(books.iq1.n, 2048u);
    EXPECT_EQ(fnv1a(values_of(books.iq1, books.iq1_levels, 8)), 0x6703ed863501ae2eu);
}

TEST_P(Codebooks, LevelsOfCodesAreThePublishedOnes) {
    EXPECT_EQ(GetParam()->iq4_levels.n, 16u);
    EXPECT_EQ(fnv1a(bytes_of(GetParam()->iq4_levels)), 0x055d06d2d8fa0f75u);
    EXPECT_EQ(GetParam()->e2m1_twice.n, 16u);
    EXPECT_EQ(fnv1a(bytes_of(GetParam()->e2m1_twice)), 0x3f0e3c08af1e5eb5u);
}

TEST_P(Codebooks, SevenSignsBecomeAnEvenNumber) {
    const table& signs = GetParam()->even_signs;
    ASSERT_EQ(signs.n, 128u);
    for (size_t s = 0; s < signs.n; ++s) {
        EXPECT_EQ(static_cast<size_t>(signs.numbers[s]) & 127u, s);
        EXPECT_EQ(std::popcount(static_cast<uint32_t>(signs.numbers[s])) % 2, 0) << s;
    }
}

INSTANTIATE_TEST_SUITE_P(As, Codebooks, testing::Values(codebooks_of_c(), &kCodebooks),
                         [](const auto& of) {
                             return std::string(of.param == &kCodebooks ? "Cpp" : "C");
                         });

TEST(TypesInC, AreThoseOfCpp) {
    for (int t = 0; t < GGML_TYPE_COUNT; ++t) {
        const tenon_type& c = types_of_c()[t];
        const tenon_type& cpp = tenon_types[t];
        EXPECT_EQ(c.type, t);
        EXPECT_STREQ(c.name, cpp.name);
        EXPECT_EQ(c.block, cpp.block) << cpp.name;
        EXPECT_EQ(c.bytes, cpp.bytes) << cpp.name;
        EXPECT_EQ(c.quantized, cpp.quantized) << cpp.name;
    }
}

}  // namespace
