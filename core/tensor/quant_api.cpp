// The conversion functions of the ggml API: checks and error texts around the table of formats.

#include <array>
#include <cinttypes>
#include <cmath>

#include "core/base/bits.h"
#include "core/base/result.h"
#include "core/tensor/types.h"
#include "tenon/quant.h"

namespace tenon {
namespace {

using quant::Format;

using Traits = std::array<ggml_type_traits, GGML_TYPE_COUNT>;

Traits make_traits() {
    Traits traits{};
    for (int t = 0; t < GGML_TYPE_COUNT; ++t) {
        traits[t].type_name = tenon_types[t].name;
        traits[t].blck_size = tenon_types[t].block;
        traits[t].type_size = tenon_types[t].bytes;
        traits[t].is_quantized = tenon_types[t].quantized;
        if (const Format* format = quant::find_format(t)) {
            traits[t].to_float = format->to_float;
            traits[t].from_float_ref = format->from_float_ref;
        }
    }
    return traits;
}

Result<const Format*> quantizable(ggml_type type) {
    if (!is_type_number(type)) return fail(TENON_E_INVALID, "type %d is unknown", type);
    const Format* format = quant::find_format(type);
    if (!format || !format->quantize) {
        return fail(TENON_E_UNSUPPORTED, "rows cannot be quantized to type %s",
                    tenon_types[type].name);
    }
    return format;
}

Result<void> init_tables(const Format& format) {
    if (format.init && !format.init()) {
        return fail(TENON_E_NO_HOST_MEMORY, "out of memory for the code book tables of type %s",
                    tenon_types[format.type].name);
    }
    return {};
}

struct Chunk {
    size_t offset;  // bytes of dst before the chunk
    size_t bytes;
};

// `start` elements of earlier rows, then n_rows rows.
Result<Chunk> measure(const Format& format, int64_t start, int64_t n_rows, int64_t n_per_row) {
    const tenon_type& type = tenon_types[format.type];
    if (n_per_row <= 0 || n_per_row % type.block != 0) {
        return fail(TENON_E_INVALID,
                    "rows of %" PRId64 " elements are not whole blocks of %" PRId64 " of type %s",
                    n_per_row, type.block, type.name);
    }
    if (n_rows < 0) return fail(TENON_E_INVALID, "%" PRId64 " rows to quantize", n_rows);
    if (start < 0 || start % n_per_row != 0) {
        return fail(TENON_E_INVALID, "start %" PRId64 " is not at a row of %" PRId64 " elements",
                    start, n_per_row);
    }
    Chunk chunk{};
    size_t row_bytes, end_elems, end_bytes;
    if (!mul_size(static_cast<size_t>(n_per_row / type.block), type.bytes, &row_bytes) ||
        !mul_size(static_cast<size_t>(start / n_per_row), row_bytes, &chunk.offset) ||
        !mul_size(static_cast<size_t>(n_rows), row_bytes, &chunk.bytes) ||
        !add_size(chunk.offset, chunk.bytes, &end_bytes) ||
        !mul_size(static_cast<size_t>(n_rows), static_cast<size_t>(n_per_row), &end_elems) ||
        !add_size(end_elems, static_cast<size_t>(start), &end_elems) ||
        !mul_size(end_elems, sizeof(float), &end_elems)) {
        return fail(TENON_E_INVALID,
                    "%" PRId64 " rows of %" PRId64 " elements exceed the address space", n_rows,
                    n_per_row);
    }
    return chunk;
}

Result<void> check_importance(const Format& format, const float* importance, int64_t n) {
    if (!importance || !format.uses_importance) return {};
    for (int64_t i = 0; i < n; ++i) {
        if (std::isfinite(importance[i]) && importance[i] >= 0) continue;
        return fail(TENON_E_INVALID,
                    "importance of column %" PRId64 " is %g, must be finite and not below 0", i,
                    static_cast<double>(importance[i]));
    }
    return {};
}

Result<size_t> quantize_chunk(ggml_type type, const float* src, void* dst, int64_t start,
                              int64_t n_rows, int64_t n_per_row, const float* imatrix) {
    const auto format = quantizable(type);
    if (!format) return format.error();
    const auto chunk = measure(**format, start, n_rows, n_per_row);
    if (!chunk) return chunk.error();
    if ((*format)->requires_importance && !imatrix) {
        return fail(TENON_E_INVALID, "type %s needs an importance matrix", tenon_types[type].name);
    }
    if (n_rows == 0) return size_t{0};
    if (!src || !dst)
        return fail(TENON_E_INVALID, "rows to quantize: source or destination is null");
    if (const auto valid = check_importance(**format, imatrix, n_per_row); !valid) {
        return valid.error();
    }
    if (const auto ready = init_tables(**format); !ready) return ready.error();
    quant::quantize_rows(**format, src + start, static_cast<char*>(dst) + chunk->offset, n_rows,
                         n_per_row, imatrix);
    return chunk->bytes;
}

Result<bool> validate_row_data(ggml_type type, const void* data, size_t n_bytes) {
    if (!is_type_number(type)) return fail(TENON_E_INVALID, "type %d is unknown", type);
    const char* name = tenon_types[type].name;
    const size_t bytes = tenon_types[type].bytes;
    const Format* format = quant::find_format(type);
    if (!format || !format->validate) {
        return fail(TENON_E_INVALID, "data of type %s cannot be valid", name);
    }
    if (n_bytes % bytes != 0) {
        return fail(TENON_E_INVALID, "%zu bytes are not whole blocks of %zu bytes of type %s",
                    n_bytes, bytes, name);
    }
    if (!data && n_bytes != 0) return fail(TENON_E_INVALID, "%zu bytes of data at null", n_bytes);
    if (!format->validate(data, static_cast<int64_t>(n_bytes / bytes))) {
        return fail(TENON_E_INVALID,
                    "data of type %s, %zu bytes: a value is infinite or not a number", name,
                    n_bytes);
    }
    return true;
}

}  // namespace
}  // namespace tenon

using namespace tenon;

extern "C" const ggml_type_traits* ggml_get_type_traits(ggml_type type) {
    static const Traits traits = make_traits();
    static const ggml_type_traits unknown{"unknown", 0, 0, 0, false, nullptr, nullptr};
    return is_type_number(type) ? &traits[type] : &unknown;
}

extern "C" void ggml_quantize_init(ggml_type type) {
    guard_void([&]() -> Result<void> {
        const Format* format = quant::find_format(type);
        return format ? init_tables(*format) : Result<void>{};
    });
}

extern "C" void ggml_quantize_free() {
    for (int t = 0; t < GGML_TYPE_COUNT; ++t) {
        const Format* format = quant::find_format(t);
        if (format && format->release) format->release();
    }
}

extern "C" bool ggml_quantize_requires_imatrix(ggml_type type) {
    const Format* format = quant::find_format(type);
    return format && format->requires_importance;
}

extern "C" size_t ggml_quantize_chunk(ggml_type type, const float* src, void* dst, int64_t start,
                                      int64_t nrows, int64_t n_per_row, const float* imatrix) {
    return guard<size_t>(
        0, [&] { return quantize_chunk(type, src, dst, start, nrows, n_per_row, imatrix); });
}

extern "C" bool ggml_validate_row_data(ggml_type type, const void* data, size_t nbytes) {
    return guard<bool>(false, [&] { return validate_row_data(type, data, nbytes); });
}
