// Types with code books: the lists of neighbours, and the life of these lists.

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <numeric>
#include <thread>

#include "sdk/quant/iq_neighbours.h"
#include "tenon/tenon.h"
#include "tests/support/allocations.h"
#include "tests/unit/quant/golden.h"

namespace tenon {
namespace {

using quant::CodeBook;
using quant::Format;
using quant::LazyNeighbours;
using quant::Neighbours;

struct Searched {
    const CodeBook& book;
    int shells;
};

const Searched kSearched[] = {{quant::kBookIq2xxs, 2}, {quant::kBookIq2xs, 2},
                              {quant::kBookIq2s, 1},   {quant::kBookIq3xxs, 2},
                              {quant::kBookIq3s, 3},   {quant::kBookIq1s, 3}};

constexpr ggml_type kTypesWithBooks[] = {GGML_TYPE_IQ1_S,  GGML_TYPE_IQ1_M, GGML_TYPE_IQ2_XXS,
                                         GGML_TYPE_IQ2_XS, GGML_TYPE_IQ2_S, GGML_TYPE_IQ3_XXS,
                                         GGML_TYPE_IQ3_S};

int digit(const CodeBook& book, uint32_t tuple, int i) {
    return static_cast<int>(tuple >> book.bits * i & ((1u << book.bits) - 1));
}

bool is_tuple(const CodeBook& book, uint32_t tuple) {
    for (int i = 0; i < book.elems; ++i) {
        if (digit(book, tuple, i) >= book.levels) return false;
    }
    return true;
}

// In units of the values 2 * level + 1.
int distance(const CodeBook& book, uint32_t a, uint32_t b) {
    int sum = 0;
    for (int i = 0; i < book.elems; ++i) {
        const int d = 2 * digit(book, a, i) - 2 * digit(book, b, i);
        sum += d * d;
    }
    return sum;
}

// The definition: all points by distance, then index, until the distances change for the last time.
std::vector<uint16_t> sorted_neighbours(const CodeBook& book, int shells, uint32_t tuple) {
    std::vector<uint16_t> points(book.points, book.points + book.size);
    std::stable_sort(points.begin(), points.end(), [&](uint16_t a, uint16_t b) {
        return distance(book, tuple, a) < distance(book, tuple, b);
    });
    size_t n = 1;
    for (; n < points.size(); ++n) {
        if (distance(book, tuple, points[n - 1]) == distance(book, tuple, points[n])) continue;
        if (--shells == 0) break;
    }
    points.resize(n);
    return points;
}

TEST(IqNeighbours, NeighboursAreThePointsOfTheNearestShells) {
    for (const auto& [book, shells] : kSearched) {
        const Neighbours neighbours(book, shells);
        for (int p = 0; p < book.size; ++p) EXPECT_EQ(neighbours.index_of(book.points[p]), p);
        size_t checked = 0;
        for (uint32_t tuple = 0; tuple < 1u << book.bits * book.elems; ++tuple) {
            if (!is_tuple(book, tuple) || neighbours.is_point(tuple)) continue;
            if (++checked % 29 != 0) continue;
            const auto near = neighbours.near(tuple);
            EXPECT_EQ(std::vector<uint16_t>(near.begin(), near.end()),
                      sorted_neighbours(book, shells, tuple))
                << tuple;
        }
        EXPECT_GT(checked, 3000u);
    }
}

TEST(IqNeighbours, ThreadsGetTheSameNeighbours) {
    LazyNeighbours lazy(quant::kBookIq2xs, 2);
    for (int round = 0; round < 3; ++round) {
        std::atomic<bool> go{false};
        const Neighbours* seen[8] = {};
        std::vector<std::thread> threads;
        for (const Neighbours*& mine : seen) {
            threads.emplace_back([&] {
                while (!go) std::this_thread::yield();
                mine = lazy.get();
            });
        }
        go = true;
        for (std::thread& thread : threads) thread.join();
        for (const Neighbours* one : seen) EXPECT_EQ(one, seen[0]);
        ASSERT_NE(seen[0], nullptr);
        EXPECT_EQ(seen[0]->index_of(quant::kBookIq2xs.points[7]), 7);
        lazy.release();
        lazy.release();
    }
}

std::vector<uint8_t> quantize_wave(ggml_type type, size_t* written) {
    constexpr int64_t kN = 512;
    std::vector<float> x(kN), w(kN);
    for (size_t i = 0; i < x.size(); ++i) {
        x[i] = std::sin(0.7f * static_cast<float>(i));
        w[i] = 0.5f + static_cast<float>(i % 5);
    }
    std::vector<uint8_t> blocks(ggml_row_size(type, kN));
    *written = ggml_quantize_chunk(type, x.data(), blocks.data(), 0, 1, kN, w.data());
    return blocks;
}

TEST(IqNeighbours, TablesCanBeFreedAndBuiltAgain) {
    for (ggml_type type : kTypesWithBooks) {
        size_t written = 0;
        const auto first = quantize_wave(type, &written);
        EXPECT_EQ(written, first.size());
        ggml_quantize_free();
        EXPECT_EQ(quantize_wave(type, &written), first) << ggml_type_name(type);
        ggml_quantize_free();
        ggml_quantize_init(type);
        EXPECT_EQ(quantize_wave(type, &written), first) << ggml_type_name(type);
    }
    ggml_quantize_free();
}

TEST(IqNeighbours, TablesAreBuiltOnce) {
    for (ggml_type type : kTypesWithBooks) {
        const Format& format = *quant::find_format(type);
        ASSERT_TRUE(format.init && format.release);
        ASSERT_TRUE(format.init());
        const size_t before = test::allocations_of_this_thread();
        ASSERT_TRUE(format.init());
        EXPECT_EQ(test::allocations_of_this_thread(), before) << ggml_type_name(type);
        format.release();
    }
}

// Allocation 0, then 1, … fails: an error each time, and no harm done.
TEST(IqNeighbours, NoMemoryForTablesIsAnError) {
    for (ggml_type type : {GGML_TYPE_IQ1_M, GGML_TYPE_IQ2_S, GGML_TYPE_IQ3_XXS}) {
        size_t written = 0;
        const auto want = quantize_wave(type, &written);
        int failures = 0;
        for (;; ++failures) {
            ggml_quantize_free();
            tenon_clear_error();
            test::g_allocations_until_bad = failures;
            const bool ready = quant::find_format(type)->init();
            test::g_allocations_until_bad = -1;
            if (ready) break;
            ASSERT_LT(failures, 100);
        }
        EXPECT_GE(failures, 3);
        EXPECT_EQ(quantize_wave(type, &written), want);
        EXPECT_EQ(written, want.size());
    }
    ggml_quantize_free();
}

TEST(IqNeighbours, ChunkWithoutMemoryWritesNothing) {
    ggml_quantize_free();
    tenon_clear_error();
    std::vector<float> x(256, 1.0f);
    std::vector<uint8_t> blocks(ggml_row_size(GGML_TYPE_IQ3_S, 256), 0x5a);
    test::g_allocations_until_bad = 0;
    const size_t written =
        ggml_quantize_chunk(GGML_TYPE_IQ3_S, x.data(), blocks.data(), 0, 1, 256, nullptr);
    test::g_allocations_until_bad = -1;
    EXPECT_EQ(written, 0u);
    EXPECT_STREQ(tenon_last_error(), "out of memory for the code book tables of type iq3_s");
    for (uint8_t byte : blocks) EXPECT_EQ(byte, 0x5a);
    tenon_clear_error();
}

TEST(IqNeighbours, RunTimeQuantizerWithoutMemoryWritesZeros) {
    ggml_quantize_free();
    const Format& format = *quant::find_format(GGML_TYPE_IQ3_S);
    std::vector<float> x(256, 1.0f);
    std::vector<uint8_t> blocks(tenon_types[format.type].bytes, 0x5a);
    test::g_allocations_until_bad = 0;
    format.from_float_ref(x.data(), blocks.data(), 256);
    test::g_allocations_until_bad = -1;
    EXPECT_EQ(std::accumulate(blocks.begin(), blocks.end(), 0), 0);
    format.from_float_ref(x.data(), blocks.data(), 256);
    EXPECT_NE(std::accumulate(blocks.begin(), blocks.end(), 0), 0);
    ggml_quantize_free();
}

TEST(IqNeighbours, PublicTraitsShowTheQuantizersOfTheReference) {
    struct Row {
        ggml_type type;
        bool reference, run_time, requires_importance;
    };
    for (const Row& row : std::initializer_list<Row>{{GGML_TYPE_IQ1_S, false, false, true},
                                                     {GGML_TYPE_IQ1_M, false, false, false},
                                                     {GGML_TYPE_IQ2_XXS, false, false, true},
                                                     {GGML_TYPE_IQ2_XS, false, false, true},
                                                     {GGML_TYPE_IQ2_S, true, false, false},
                                                     {GGML_TYPE_IQ3_XXS, true, false, false},
                                                     {GGML_TYPE_IQ3_S, true, false, false},
                                                     {GGML_TYPE_IQ4_NL, true, true, false},
                                                     {GGML_TYPE_IQ4_XS, true, true, false}}) {
        const ggml_type_traits& traits = *ggml_get_type_traits(row.type);
        const Format& format = *quant::find_format(row.type);
        EXPECT_NE(traits.to_float, nullptr) << traits.type_name;
        EXPECT_EQ(traits.from_float_ref != nullptr, row.reference) << traits.type_name;
        EXPECT_EQ(format.from_float != nullptr, row.run_time) << traits.type_name;
        EXPECT_EQ(ggml_quantize_requires_imatrix(row.type), row.requires_importance);
        EXPECT_EQ(format.partner, row.type == GGML_TYPE_IQ4_NL ? GGML_TYPE_Q8_0 : GGML_TYPE_Q8_K);
    }
}

// Codes are never looked at; a scale that is not finite is what makes data invalid.
TEST(IqNeighbours, ValidationReadsTheScale) {
    for (int t = 0; t < GGML_TYPE_COUNT; ++t) {
        const Format* format = quant::find_format(t);
        if (!format || std::string(ggml_type_name(format->type)).substr(0, 2) != "iq") continue;
        const auto type = format->type;
        std::vector<uint8_t> blocks(2 * tenon_types[format->type].bytes, 0xff);
        EXPECT_FALSE(ggml_validate_row_data(type, blocks.data(), blocks.size()));
        for (size_t b = 0; b < 2; ++b) {
            uint8_t* block = &blocks[b * tenon_types[format->type].bytes];
            // The top of the exponent: in iq1_m the high nibble of the last word.
            block[type == GGML_TYPE_IQ1_M ? tenon_types[format->type].bytes - 1 : 1] = 0x3b;
            EXPECT_EQ(ggml_validate_row_data(type, blocks.data(), blocks.size()), b == 1)
                << ggml_type_name(type);
        }
        EXPECT_FALSE(ggml_validate_row_data(type, blocks.data(), blocks.size() - 1));
    }
    tenon_clear_error();
}

}  // namespace
}  // namespace tenon
