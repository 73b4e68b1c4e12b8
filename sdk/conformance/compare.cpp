// Comparing results: see compare.h.

#include "sdk/conformance/compare.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <stdexcept>

namespace tenon::conformance {
namespace {

template <class T>
T read(const char* p) {
    T value;
    std::memcpy(&value, p, sizeof value);
    return value;
}

double element(ggml_type type, const char* p) {
    switch (type) {
        case GGML_TYPE_F32:
            return read<float>(p);
        case GGML_TYPE_F64:
            return read<double>(p);
        case GGML_TYPE_F16:
            return ggml_fp16_to_fp32(read<ggml_fp16_t>(p));
        case GGML_TYPE_BF16:
            return ggml_bf16_to_fp32(read<ggml_bf16_t>(p));
        case GGML_TYPE_I8:
            return read<int8_t>(p);
        case GGML_TYPE_I16:
            return read<int16_t>(p);
        case GGML_TYPE_I32:
            return read<int32_t>(p);
        case GGML_TYPE_I64:
            return static_cast<double>(read<int64_t>(p));
        default:
            throw std::runtime_error(std::string("cannot read type ") + ggml_type_name(type));
    }
}

std::string at(size_t i, double want, double got) {
    char text[128];
    std::snprintf(text, sizeof text, "element %zu: expected %.9g, got %.9g", i, want, got);
    return text;
}

bool infinite(double x) { return std::isinf(x) || std::fabs(x) == FLT_MAX; }

}  // namespace

std::vector<double> values_of(const ggml_tensor& t, const void* bytes) {
    std::vector<double> values;
    if (ggml_is_empty(&t)) return values;
    values.reserve(ggml_nelements(&t));
    const auto* traits = ggml_get_type_traits(t.type);
    const bool quantized = ggml_is_quantized(t.type);
    if (quantized && !traits->to_float) {
        throw std::runtime_error(std::string("cannot decode type ") + ggml_type_name(t.type));
    }
    std::vector<float> row(quantized ? t.ne[0] : 0);
    for (int64_t i3 = 0; i3 < t.ne[3]; ++i3) {
        for (int64_t i2 = 0; i2 < t.ne[2]; ++i2) {
            for (int64_t i1 = 0; i1 < t.ne[1]; ++i1) {
                const char* p =
                    static_cast<const char*>(bytes) + i1 * t.nb[1] + i2 * t.nb[2] + i3 * t.nb[3];
                if (quantized) {
                    traits->to_float(p, row.data(), t.ne[0]);
                    values.insert(values.end(), row.begin(), row.end());
                } else {
                    for (int64_t i0 = 0; i0 < t.ne[0]; ++i0)
                        values.push_back(element(t.type, p + i0 * t.nb[0]));
                }
            }
        }
    }
    return values;
}

Comparison compare_floats(const std::vector<double>& want, const std::vector<double>& got,
                          double limit) {
    if (want.size() != got.size()) return {false, 0, "different number of elements"};
    double difference = 0, power = 0;
    for (size_t i = 0; i < want.size(); ++i) {
        if (std::isnan(want[i]) || std::isnan(got[i])) return {false, NAN, at(i, want[i], got[i])};
        if (infinite(want[i]) || infinite(got[i])) {
            if (!infinite(want[i]) || !infinite(got[i]) ||
                std::signbit(want[i]) != std::signbit(got[i])) {
                return {false, INFINITY, at(i, want[i], got[i])};
            }
            continue;
        }
        difference += (want[i] - got[i]) * (want[i] - got[i]);
        power += want[i] * want[i];
    }
    // All zeros expected: nothing but zeros will do.
    const double nmse = power > 0 ? difference / power : difference;
    if (nmse <= limit) return {true, nmse, ""};
    size_t worst = 0;
    double largest = -1;
    for (size_t i = 0; i < want.size(); ++i) {
        const double d = std::fabs(want[i] - got[i]);
        if (std::isfinite(d) && d > largest) worst = i, largest = d;
    }
    return {false, nmse, at(worst, want[worst], got[worst])};
}

Comparison compare_exactly(const std::vector<double>& want, const std::vector<double>& got) {
    if (want.size() != got.size()) return {false, 0, "different number of elements"};
    for (size_t i = 0; i < want.size(); ++i) {
        if (want[i] != got[i]) return {false, 1, at(i, want[i], got[i])};
    }
    return {true, 0, ""};
}

double slack_of(const std::vector<double>& values, bool computed, double limit) {
    if (!computed || values.empty()) return 0;
    double power = 0;
    for (const double v : values) {
        if (std::isfinite(v) && !infinite(v)) power += v * v;
    }
    return 2 * std::sqrt(limit * power / static_cast<double>(values.size()));
}

Comparison compare_selections(const ggml_tensor& indices, const std::vector<double>& want,
                              const std::vector<double>& got, const ggml_tensor& keys,
                              const std::vector<double>& key_values, double slack) {
    if (want.size() != got.size()) return {false, 0, "different number of elements"};
    const int64_t k = indices.op == GGML_OP_ARGMAX ? 1 : indices.ne[0], n = keys.ne[0];
    if (k * static_cast<int64_t>(key_values.size()) != n * static_cast<int64_t>(want.size())) {
        return {false, 0, "indices and keys have a different number of rows"};
    }
    std::vector<char> seen(n), seen_in_want(n);
    std::vector<double> wanted(k), selected(k);
    for (size_t row = 0; row * k < want.size(); ++row) {
        std::fill(seen.begin(), seen.end(), 0);
        std::fill(seen_in_want.begin(), seen_in_want.end(), 0);
        for (int64_t i = 0; i < k; ++i) {
            const size_t at_index = row * k + i;
            const auto w = static_cast<int64_t>(want[at_index]),
                       g = static_cast<int64_t>(got[at_index]);
            const bool valid = w >= 0 && w < n && g >= 0 && g < n;  // what is expected, too
            if (!valid || seen[g]++ || seen_in_want[w]++)
                return {false, 1, at(at_index, want[at_index], got[at_index])};
            wanted[i] = key_values[row * n + w];
            selected[i] = key_values[row * n + g];
        }
        if (indices.op == GGML_OP_TOP_K) {
            std::sort(wanted.begin(), wanted.end());
            std::sort(selected.begin(), selected.end());
        }
        for (int64_t i = 0; i < k; ++i) {
            const bool same =
                wanted[i] == selected[i] || std::fabs(wanted[i] - selected[i]) <= slack;
            if (!same) return {false, 1, at(row * k + i, wanted[i], selected[i])};
        }
    }
    return {true, 0, ""};
}

Comparison compare_quantized(const std::vector<double>& want, const std::vector<double>& got,
                             const std::vector<double>& source, double slack, double limit) {
    if (want.size() != got.size() || want.size() != source.size()) {
        return {false, 0, "different number of elements"};
    }
    std::vector<double> judged = got;
    for (size_t i = 0; i < want.size(); ++i) {
        const double apart = std::fabs(want[i] - got[i]);
        const double half = 0.501 * apart + slack;
        const bool tie =
            std::fabs(want[i] - source[i]) <= half && std::fabs(got[i] - source[i]) <= half;
        const bool other_scale = slack > 0 && apart <= 0x1p-10 * std::fabs(want[i]);
        if (tie || other_scale) judged[i] = want[i];
    }
    return compare_floats(want, judged, limit);
}

}  // namespace tenon::conformance
