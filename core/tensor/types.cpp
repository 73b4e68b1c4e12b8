// The type queries of the ggml API, answered from tenon/types.h.

#include "core/tensor/types.h"

#include "core/base/bits.h"
#include "core/base/result.h"

namespace tenon {

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
    const tenon_type& row = tenon_types[type];
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
    return is_type_number(type) ? tenon_types[type].block : 0;
}

extern "C" size_t ggml_type_size(ggml_type type) {
    return is_type_number(type) ? tenon_types[type].bytes : 0;
}

extern "C" double ggml_type_sizef(ggml_type type) {
    return static_cast<double>(ggml_type_size(type)) / static_cast<double>(ggml_blck_size(type));
}

extern "C" const char* ggml_type_name(ggml_type type) {
    return is_type_number(type) ? tenon_types[type].name : "unknown type";
}

extern "C" bool ggml_is_quantized(ggml_type type) {
    return is_type_number(type) && tenon_types[type].quantized;
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
