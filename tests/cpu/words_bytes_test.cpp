// The SIMD words on blocks of 32 bytes that unpacking is made of, against plain C++.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "plugins/cpu/simd/simd.h"

namespace tenon::cpu::simd {
namespace {

struct Bytes {
    uint8_t v[32];
};

// All 256 bytes, eight blocks of them, and random ones.
template <class Fn>
void for_each_block(Fn&& fn) {
    std::mt19937 random(11);
    for (int i = 0; i < 40; ++i) {
        Bytes b;
        for (int k = 0; k < 32; ++k) {
            b.v[k] = static_cast<uint8_t>(i < 8 ? 32 * i + k : static_cast<int>(random()));
        }
        fn(b);
    }
}

Bytes bytes(i8x32 a) {
    int8_t padded[34] = {};  // unaligned on purpose
    store_i8(padded + 1, a);
    EXPECT_EQ(padded[0], 0);
    EXPECT_EQ(padded[33], 0);
    Bytes b;
    std::memcpy(b.v, padded + 1, 32);
    return b;
}

// got[k] == want(k) for all bytes
template <class Want>
void expect_bytes(i8x32 got, Want&& want) {
    const Bytes b = bytes(got);
    for (int k = 0; k < 32; ++k) {
        ASSERT_EQ(b.v[k], static_cast<uint8_t>(want(k))) << "byte " << k;
    }
}

template <int at, int n, int to>
void expect_field() {
    for_each_block([](const Bytes& b) {
        expect_bytes(field<at, n, to>(load_i8(b.v)),
                     [&](int k) { return (b.v[k] >> at & ((1 << n) - 1)) << to; });
    });
}

TEST(ByteWords, FieldsMoveBetweenBits) {
    expect_field<0, 2, 0>();
    expect_field<2, 2, 0>();
    expect_field<4, 2, 0>();
    expect_field<6, 2, 0>();
    expect_field<0, 4, 0>();
    expect_field<4, 4, 0>();
    expect_field<0, 2, 3>();
    expect_field<0, 2, 4>();
    expect_field<2, 2, 4>();
    expect_field<4, 2, 4>();
    expect_field<6, 2, 4>();
    expect_field<0, 1, 4>();
    expect_field<3, 1, 4>();
    expect_field<4, 1, 4>();
    expect_field<7, 1, 4>();
    expect_field<1, 1, 2>();
    expect_field<7, 1, 2>();
}

TEST(ByteWords, ArithmeticWraps) {
    Bytes other;
    for (int k = 0; k < 32; ++k) other.v[k] = static_cast<uint8_t>(37 * k + 200);
    for_each_block([&](const Bytes& b) {
        const i8x32 x = load_i8(b.v), y = load_i8(other.v);
        expect_bytes(add(x, y), [&](int k) { return b.v[k] + other.v[k]; });
        expect_bytes(bit_or(x, y), [&](int k) { return b.v[k] | other.v[k]; });
        expect_bytes(sub(x, int8_t{32}), [&](int k) { return b.v[k] - 32; });
        expect_bytes(splat_i8(static_cast<int8_t>(b.v[5])), [&](int) { return b.v[5]; });
        for (int least : {0, 86, 128, 171, 255}) {
            expect_bytes(at_least(x, static_cast<uint8_t>(least)),
                         [&](int k) { return b.v[k] >= least ? 255 : 0; });
        }
    });
}

TEST(ByteWords, BitsChooseBytes) {
    for_each_block([](const Bytes& b) {
        uint32_t bits;
        std::memcpy(&bits, b.v, sizeof bits);
        const auto set = [&](int k) { return (bits >> k & 1) != 0; };
        expect_bytes(select_bits(bits, -1, 1), [&](int k) { return set(k) ? -1 : 1; });
        expect_bytes(select_bits(bits, 0, -16), [&](int k) { return set(k) ? 0 : -16; });
        expect_bytes(negate(load_i8(b.v), bits), [&](int k) { return set(k) ? -b.v[k] : +b.v[k]; });
    });
}

TEST(ByteWords, RunsAreLoadedAndMoved) {
    for_each_block([](const Bytes& b) {
        expect_bytes(load_i8(b.v + 16, b.v), [&](int k) { return b.v[(k + 16) % 32]; });
        expect_bytes(load_u2(b.v + 3), [&](int k) { return b.v[3 + k / 4] >> 2 * (k % 4) & 3; });
        expect_bytes(swap_middle(load_i8(b.v)), [&](int k) {
            return b.v[k < 8 || k >= 24 ? k : k < 16 ? k + 8 : k - 8];
        });
        uint64_t q[4];
        uint32_t d[8];
        std::memcpy(q, b.v, 32);
        std::memcpy(d, b.v, 32);
        expect_bytes(pack(q[0], q[1], q[2], q[3]), [&](int k) { return b.v[k]; });
        expect_bytes(pack(d), [&](int k) { return b.v[k]; });
    });
}

TEST(ByteWords, UnsignedCodesMultiply) {
    std::mt19937 random(3);
    for (int round = 0; round < 200; ++round) {
        int8_t w[32], y[32];
        for (int k = 0; k < 32; ++k) {
            w[k] = static_cast<int8_t>(round < 2 ? 127 : random() & 127);
            y[k] = static_cast<int8_t>(round == 0 ? 127
                                       : round == 1
                                           ? -127
                                           : std::max<int>(static_cast<int8_t>(random()), -127));
        }
        float got[8];
        store8(got, to_float(dot_unsigned(load_i8(w), load_i8(y))));
        for (int lane = 0; lane < 8; ++lane) {
            int32_t want = 0;
            for (int k = 4 * lane; k < 4 * lane + 4; ++k) want += w[k] * y[k];
            ASSERT_EQ(got[lane], static_cast<float>(want)) << "lane " << lane;
        }
    }
}

TEST(ByteWords, RowsMultiplyInPairs) {
    std::mt19937 random(5);
    for (int round = 0; round < 200; ++round) {
        int8_t w[2][32], y[2][32];
        for (int k = 0; k < 64; ++k) {
            w[k / 32][k % 32] = static_cast<int8_t>(round == 0 ? -128 : static_cast<int>(random()));
            y[k / 32][k % 32] = static_cast<int8_t>(
                round == 0 ? -127 : std::max<int>(static_cast<int8_t>(random()), -127));
        }
        const i8x32x2 a = pair(load_i8(w[0]), load_i8(w[1])),
                      b = pair(load_i8(y[0]), load_i8(y[1]));
        float lo[4], hi[4], all[4];
        store4(lo, dot_half<0>(a, b));
        store4(hi, dot_half<1>(a, b));
        store4(all, dot(a, b));
        for (int i = 0; i < 4; ++i) {
            int32_t want[2] = {};
            for (int k = 0; k < 32; ++k) want[k / 16] += w[i / 2][k] * y[i % 2][k];
            ASSERT_EQ(lo[i], static_cast<float>(want[0]));
            ASSERT_EQ(hi[i], static_cast<float>(want[1]));
            ASSERT_EQ(all[i], static_cast<float>(want[0] + want[1]));
        }
    }
    float got[4];
    store4(got, fma(of_first(2, 3), of_second(5, 7), mul(of_first(10, 20), of_second(1, 2))));
    const float want[4] = {2 * 5 + 10, 2 * 7 + 20, 3 * 5 + 20, 3 * 7 + 40};
    for (int i = 0; i < 4; ++i) EXPECT_EQ(got[i], want[i]);
}

TEST(ByteWords, EightFloats) {
    const float x[9] = {0, 1, -2, 3, -4, 5, -6, 7, -8};
    float got[8];
    store8(got, fma(load8(x + 1), splat8(2.0f), splat8(10.0f, 20.0f)));
    for (int k = 0; k < 8; ++k) EXPECT_EQ(got[k], 2 * x[k + 1] + (k < 4 ? 10 : 20));
    store8(got, mul(load8(x + 1), splat8(0.5f)));
    for (int k = 0; k < 8; ++k) EXPECT_EQ(got[k], x[k + 1] / 2);
    store8(got, u8_to_float(0xff80017f00020304));
    const float bytes_from_low[8] = {4, 3, 2, 0, 127, 1, 128, 255};
    for (int k = 0; k < 8; ++k) EXPECT_EQ(got[k], bytes_from_low[k]);
}

}  // namespace
}  // namespace tenon::cpu::simd
