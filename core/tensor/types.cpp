// The table of tensor types, and the type queries of the ggml API.

#include "core/tensor/types.h"

#include "core/base/bits.h"
#include "core/base/result.h"

namespace tenon {

// clang-format off
constexpr TypeRow kTypes[GGML_TYPE_COUNT] = {
    // type              name       block bytes quantized
    {GGML_TYPE_F32,     "f32",        1,   4, false},
    {GGML_TYPE_F16,     "f16",        1,   2, false},
    {GGML_TYPE_Q4_0,    "q4_0",      32,  18, true},
    {GGML_TYPE_Q4_1,    "q4_1",      32,  20, true},
    {ggml_type(4),      "DEPRECATED", 0,   0, false},
    {ggml_type(5),      "DEPRECATED", 0,   0, false},
    {GGML_TYPE_Q5_0,    "q5_0",      32,  22, true},
    {GGML_TYPE_Q5_1,    "q5_1",      32,  24, true},
    {GGML_TYPE_Q8_0,    "q8_0",      32,  34, true},
    {GGML_TYPE_Q8_1,    "q8_1",      32,  36, true},
    {GGML_TYPE_Q2_K,    "q2_K",     256,  84, true},
    {GGML_TYPE_Q3_K,    "q3_K",     256, 110, true},
    {GGML_TYPE_Q4_K,    "q4_K",     256, 144, true},
    {GGML_TYPE_Q5_K,    "q5_K",     256, 176, true},
    {GGML_TYPE_Q6_K,    "q6_K",     256, 210, true},
    {GGML_TYPE_Q8_K,    "q8_K",     256, 292, true},
    {GGML_TYPE_IQ2_XXS, "iq2_xxs",  256,  66, true},
    {GGML_TYPE_IQ2_XS,  "iq2_xs",   256,  74, true},
    {GGML_TYPE_IQ3_XXS, "iq3_xxs",  256,  98, true},
    {GGML_TYPE_IQ1_S,   "iq1_s",    256,  50, true},
    {GGML_TYPE_IQ4_NL,  "iq4_nl",    32,  18, true},
    {GGML_TYPE_IQ3_S,   "iq3_s",    256, 110, true},
    {GGML_TYPE_IQ2_S,   "iq2_s",    256,  82, true},
    {GGML_TYPE_IQ4_XS,  "iq4_xs",   256, 136, true},
    {GGML_TYPE_I8,      "i8",         1,   1, false},
    {GGML_TYPE_I16,     "i16",        1,   2, false},
    {GGML_TYPE_I32,     "i32",        1,   4, false},
    {GGML_TYPE_I64,     "i64",        1,   8, false},
    {GGML_TYPE_F64,     "f64",        1,   8, false},
    {GGML_TYPE_IQ1_M,   "iq1_m",    256,  56, true},
    {GGML_TYPE_BF16,    "bf16",       1,   2, false},
    // Applications compare names of all numbers, so retired ones keep their published texts.
    {ggml_type(31), "TYPE_Q4_0_4_4 REMOVED, use Q4_0 with runtime repacking", 0, 0, false},
    {ggml_type(32), "TYPE_Q4_0_4_8 REMOVED, use Q4_0 with runtime repacking", 0, 0, false},
    {ggml_type(33), "TYPE_Q4_0_8_8 REMOVED, use Q4_0 with runtime repacking", 0, 0, false},
    {GGML_TYPE_TQ1_0,   "tq1_0",    256,  54, true},
    {GGML_TYPE_TQ2_0,   "tq2_0",    256,  66, true},
    {ggml_type(36), "TYPE_IQ4_NL_4_4 REMOVED, use IQ4_NL with runtime repacking", 0, 0, false},
    {ggml_type(37), "TYPE_IQ4_NL_4_8 REMOVED, use IQ4_NL with runtime repacking", 0, 0, false},
    {ggml_type(38), "TYPE_IQ4_NL_8_8 REMOVED, use IQ4_NL with runtime repacking", 0, 0, false},
    {GGML_TYPE_MXFP4,   "mxfp4",     32,  17, true},
    {GGML_TYPE_NVFP4,   "nvfp4",     64,  36, true},
    {GGML_TYPE_Q1_0,    "q1_0",     128,  18, true},
    {GGML_TYPE_Q2_0,    "q2_0",      64,  18, true},
};
// clang-format on

constexpr bool in_enum_order() {
    for (int i = 0; i < GGML_TYPE_COUNT; ++i) {
        if (kTypes[i].type != i || !kTypes[i].name) return false;
    }
    return true;
}
static_assert(in_enum_order(), "kTypes needs exactly one row per ggml_type, in order");

namespace {

struct FileType {
    ggml_ftype ftype;
    ggml_type type;
};
constexpr FileType kFileTypes[] = {
    {GGML_FTYPE_ALL_F32, GGML_TYPE_F32},
    {GGML_FTYPE_MOSTLY_F16, GGML_TYPE_F16},
    {GGML_FTYPE_MOSTLY_Q4_0, GGML_TYPE_Q4_0},
    {GGML_FTYPE_MOSTLY_Q4_1, GGML_TYPE_Q4_1},
    {GGML_FTYPE_MOSTLY_Q8_0, GGML_TYPE_Q8_0},
    {GGML_FTYPE_MOSTLY_Q5_0, GGML_TYPE_Q5_0},
    {GGML_FTYPE_MOSTLY_Q5_1, GGML_TYPE_Q5_1},
    {GGML_FTYPE_MOSTLY_Q2_K, GGML_TYPE_Q2_K},
    {GGML_FTYPE_MOSTLY_Q3_K, GGML_TYPE_Q3_K},
    {GGML_FTYPE_MOSTLY_Q4_K, GGML_TYPE_Q4_K},
    {GGML_FTYPE_MOSTLY_Q5_K, GGML_TYPE_Q5_K},
    {GGML_FTYPE_MOSTLY_Q6_K, GGML_TYPE_Q6_K},
    {GGML_FTYPE_MOSTLY_IQ2_XXS, GGML_TYPE_IQ2_XXS},
    {GGML_FTYPE_MOSTLY_IQ2_XS, GGML_TYPE_IQ2_XS},
    {GGML_FTYPE_MOSTLY_IQ3_XXS, GGML_TYPE_IQ3_XXS},
    {GGML_FTYPE_MOSTLY_IQ1_S, GGML_TYPE_IQ1_S},
    {GGML_FTYPE_MOSTLY_IQ4_NL, GGML_TYPE_IQ4_NL},
    {GGML_FTYPE_MOSTLY_IQ3_S, GGML_TYPE_IQ3_S},
    {GGML_FTYPE_MOSTLY_IQ2_S, GGML_TYPE_IQ2_S},
    {GGML_FTYPE_MOSTLY_IQ4_XS, GGML_TYPE_IQ4_XS},
    {GGML_FTYPE_MOSTLY_IQ1_M, GGML_TYPE_IQ1_M},
    {GGML_FTYPE_MOSTLY_BF16, GGML_TYPE_BF16},
    {GGML_FTYPE_MOSTLY_MXFP4, GGML_TYPE_MXFP4},
    {GGML_FTYPE_MOSTLY_NVFP4, GGML_TYPE_NVFP4},
    {GGML_FTYPE_MOSTLY_Q1_0, GGML_TYPE_Q1_0},
    {GGML_FTYPE_MOSTLY_Q2_0, GGML_TYPE_Q2_0},
};

}  // namespace

Result<size_t> row_bytes(int64_t type, int64_t n) {
    if (!is_usable_type(type)) {
        return fail(TENON_E_INVALID, "tensor type %lld does not exist",
                    static_cast<long long>(type));
    }
    const TypeRow& row = kTypes[type];
    if (n < 0 || n % row.block != 0) {
        return fail(TENON_E_INVALID,
                    "a row of %lld elements is no whole number of %s blocks of %lld",
                    static_cast<long long>(n), row.name, static_cast<long long>(row.block));
    }
    size_t bytes;
    if (!mul_size(static_cast<size_t>(n / row.block), row.bytes, &bytes)) {
        return fail(TENON_E_INVALID, "a row of %lld elements of %s has more bytes than fit a size",
                    static_cast<long long>(n), row.name);
    }
    return bytes;
}

}  // namespace tenon

using namespace tenon;

extern "C" int64_t ggml_blck_size(ggml_type type) {
    return is_type_number(type) ? kTypes[type].block : 0;
}

extern "C" size_t ggml_type_size(ggml_type type) {
    return is_type_number(type) ? kTypes[type].bytes : 0;
}

extern "C" double ggml_type_sizef(ggml_type type) {
    return static_cast<double>(ggml_type_size(type)) / static_cast<double>(ggml_blck_size(type));
}

extern "C" const char* ggml_type_name(ggml_type type) {
    return is_type_number(type) ? kTypes[type].name : "unknown type";
}

extern "C" bool ggml_is_quantized(ggml_type type) {
    return is_type_number(type) && kTypes[type].quantized;
}

// Bytes of `ne` elements; 0, with a message, unless they are whole blocks of a type that exists.
extern "C" size_t ggml_row_size(ggml_type type, int64_t ne) {
    return guard<size_t>(0, [&]() -> Result<size_t> { return row_bytes(type, ne); });
}

extern "C" ggml_type ggml_ftype_to_ggml_type(ggml_ftype ftype) {
    for (const FileType& row : kFileTypes) {
        if (row.ftype == ftype) return row.type;
    }
    report(fail(TENON_E_INVALID, "file type %d stands for no tensor type", ftype));
    return GGML_TYPE_COUNT;
}
