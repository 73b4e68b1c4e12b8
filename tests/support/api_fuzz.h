// Arguments for functions of the public API, by their types: mostly sensible ones, since those get
// past the first check, and now and then anything a caller could pass by mistake.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <type_traits>

#include "ggml.h"

namespace tenon::test {

// Fixed, but for --gtest_shuffle --gtest_repeat=N: a longer search.
inline uint64_t seed(uint64_t base) {
    return base + 1000 * static_cast<uint64_t>(testing::UnitTest::GetInstance()->random_seed());
}

class Dice {
public:
    explicit Dice(uint64_t seed) : rng_(seed) {}

    int64_t up_to(int64_t n) { return static_cast<int64_t>(rng_() % static_cast<uint64_t>(n + 1)); }
    bool one_in(int64_t n) { return up_to(n - 1) == 0; }
    uint64_t bits() { return rng_(); }

    int64_t extent() {
        const int64_t kind = up_to(40);
        if (kind == 0) return 0;
        if (kind == 1) return int64_t{1} << up_to(62);
        if (kind == 2) return -up_to(3);
        if (kind == 3) return static_cast<int64_t>(bits());
        return kind < 28 ? 1 + up_to(4) : 32 << up_to(3);
    }

    int64_t integer() {
        const int64_t kind = up_to(12);
        if (kind == 0) return static_cast<int64_t>(bits());
        if (kind == 1) return one_in(2) ? INT64_MIN : INT64_MAX;
        if (kind == 2) return one_in(2) ? INT32_MIN : INT32_MAX;
        return kind < 10 ? up_to(5) - 1 : up_to(600);
    }

    float real() {
        constexpr float kStrange[] = {0.0f, -0.0f, -1.0f, 1e-45f, 1e38f, -1e38f, __builtin_inff()};
        const int64_t kind = up_to(9);
        if (kind == 0) return kStrange[up_to(6)];
        if (kind == 1) return __builtin_nanf("");
        return static_cast<float>(up_to(40)) * 0.25f - 2.0f;
    }

    ggml_type type() {
        constexpr ggml_type kCommon[] = {GGML_TYPE_F32, GGML_TYPE_F32, GGML_TYPE_F16,
                                         GGML_TYPE_I32};
        if (one_in(40)) return static_cast<ggml_type>(integer());
        return one_in(6) ? static_cast<ggml_type>(up_to(GGML_TYPE_COUNT)) : kCommon[up_to(3)];
    }

private:
    std::mt19937_64 rng_;
};

// Tensors of one context, made as they are asked for. Equal shapes are likely, since most ops want
// them.
class Arguments {
public:
    Arguments(Dice& dice, ggml_context* ctx) : dice_(dice), ctx_(ctx) {}

    bool gave_null() const { return gave_null_; }

    template <class T>
    T make() {
        using Bare = std::remove_const_t<std::remove_pointer_t<T>>;
        if constexpr (std::is_same_v<Bare, ggml_context>) {
            return dice_.one_in(100) ? null() : ctx_;
        } else if constexpr (std::is_same_v<Bare, ggml_tensor>) {
            return tensor();
        } else if constexpr (std::is_pointer_v<T> && std::is_function_v<Bare>) {
            return dice_.one_in(8) ? nullptr : function(T{});
        } else if constexpr (std::is_same_v<Bare, int64_t> || std::is_same_v<Bare, int>) {
            if constexpr (std::is_pointer_v<T>) {
                return static_cast<T>(list(static_cast<Bare*>(nullptr)));
            } else {
                return static_cast<T>(dice_.one_in(2) ? dice_.extent() : dice_.integer());
            }
        } else if constexpr (std::is_same_v<T, void*>) {
            return nullptr;
        } else if constexpr (std::is_same_v<T, ggml_type>) {
            return dice_.type();
        } else if constexpr (std::is_enum_v<T>) {
            return static_cast<T>(dice_.one_in(10) ? dice_.integer() : dice_.up_to(3));
        } else if constexpr (std::is_same_v<T, bool>) {
            return dice_.one_in(2);
        } else if constexpr (std::is_floating_point_v<T>) {
            return static_cast<T>(dice_.real());
        } else {
            static_assert(std::is_integral_v<T>);
            return static_cast<T>(dice_.integer());
        }
    }

private:
    std::nullptr_t null() {
        gave_null_ = true;
        return nullptr;
    }

    ggml_tensor* tensor() {
        if (dice_.one_in(25)) return null();
        if (last_ && dice_.one_in(3)) return last_;
        last_ = fresh();
        if (!last_) gave_null_ = true;  // who made the NULL has spoken
        return last_;
    }

    ggml_tensor* fresh() {
        ggml_tensor* t = last_ && dice_.one_in(2)
                             ? ggml_new_tensor(ctx_, dice_.type(), GGML_MAX_DIMS, last_->ne)
                             : ggml_new_tensor_4d(ctx_, dice_.type(), dice_.extent(),
                                                  dice_.extent(), dice_.extent(), dice_.extent());
        if (!t) return nullptr;
        switch (dice_.up_to(9)) {
            case 0:
                return ggml_transpose(ctx_, t);
            case 1:
                return ggml_permute(ctx_, t, 0, 2, 1, 3);
            case 2:
                return ggml_view_2d(ctx_, t, t->ne[0], 1, t->nb[1], 0);
            case 3:
                ggml_set_param(t);
                return t;
            default:
                return t;
        }
    }

    // Four numbers, as every list of the API has at most.
    template <class Number>
    Number* list(Number*) {
        static Number numbers[GGML_MAX_DIMS];
        for (Number& n : numbers) n = static_cast<Number>(dice_.extent());
        return numbers;
    }

    template <class... A>
    static auto function(void (*)(A...)) -> void (*)(A...) {
        return +[](A...) {};
    }

    Dice& dice_;
    ggml_context* ctx_;
    ggml_tensor* last_ = nullptr;
    bool gave_null_ = false;
};

}  // namespace tenon::test
