// The checks that shape rules are made of, and their texts.
#include "core/ops/checks.h"

#include <cstdarg>
#include <cstdio>
#include <limits>

#include "core/tensor/shape.h"

namespace tenon {
namespace {

// "src1 'name'", or "src1" for a tensor without a name.
struct SourceName {
    char text[GGML_MAX_NAME + 16];

    SourceName(const OpCall& call, int i) {
        const char* name = call.src[i]->name;
        if (name[0] == '\0') {
            std::snprintf(text, sizeof text, "src%d", i);
        } else {
            std::snprintf(text, sizeof text, "src%d '%s'", i, name);
        }
    }
};

// "[4, 3, 1, 1]"
struct ShapeText {
    char text[4 * 22 + 4];

    explicit ShapeText(const int64_t (&ne)[GGML_MAX_DIMS]) {
        std::snprintf(text, sizeof text, "[%lld, %lld, %lld, %lld]", (long long)ne[0],
                      (long long)ne[1], (long long)ne[2], (long long)ne[3]);
    }
};

struct StrideText {
    char text[4 * 22 + 4];

    explicit StrideText(const ggml_tensor& t) {
        std::snprintf(text, sizeof text, "[%zu, %zu, %zu, %zu]", t.nb[0], t.nb[1], t.nb[2],
                      t.nb[3]);
    }
};

bool can_repeat(const int64_t (&small)[GGML_MAX_DIMS], const int64_t (&big)[GGML_MAX_DIMS]) {
    bool small_empty = false;
    bool big_empty = false;
    for (int k = 0; k < GGML_MAX_DIMS; k++) {
        small_empty |= small[k] == 0;
        big_empty |= big[k] == 0;
    }
    if (small_empty) return big_empty;
    for (int k = 0; k < GGML_MAX_DIMS; k++) {
        if (big[k] % small[k] != 0) return false;
    }
    return true;
}

// A multiple of nothing is nothing.
bool divides(int64_t part, int64_t whole) { return part == 0 ? whole == 0 : whole % part == 0; }

}  // namespace

void Checks::reject(const char* fmt, ...) {
    char text[sizeof(Error::text)];
    va_list args;
    va_start(args, fmt);
    std::vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    error_ = fail(TENON_E_INVALID, "%s: %s", call_.row.name, text);
}

Checks& Checks::require(bool condition, const char* fmt, ...) {
    if (!ok() || condition) return *this;
    char text[sizeof(Error::text)];
    va_list args;
    va_start(args, fmt);
    std::vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    reject("%s", text);
    return *this;
}

Checks& Checks::type(int i, std::initializer_list<ggml_type> allowed) {
    if (!ok()) return *this;
    char wanted[128] = "";
    size_t used = 0;
    for (ggml_type t : allowed) {
        if (src(i).type == t) return *this;
        const int n = std::snprintf(wanted + used, sizeof wanted - used, "%s%s",
                                    used == 0 ? "" : " or ", ggml_type_name(t));
        used += static_cast<size_t>(n);
        if (used >= sizeof wanted) break;
    }
    reject("%s is %s, must be %s", SourceName(call_, i).text, ggml_type_name(src(i).type), wanted);
    return *this;
}

Checks& Checks::f32(std::initializer_list<int> sources) {
    for (int i : sources) type(i, {GGML_TYPE_F32});
    return *this;
}

Checks& Checks::same_type(int i, int j) {
    if (ok() && src(i).type != src(j).type) {
        reject("%s is %s, %s is %s", SourceName(call_, i).text, ggml_type_name(src(i).type),
               SourceName(call_, j).text, ggml_type_name(src(j).type));
    }
    return *this;
}

Checks& Checks::extent(int i, int dim, int64_t want) {
    if (ok() && src(i).ne[dim] != want) {
        reject("%s has ne[%d] = %lld, must be %lld", SourceName(call_, i).text, dim,
               (long long)src(i).ne[dim], (long long)want);
    }
    return *this;
}

Checks& Checks::extents(int i, std::initializer_list<int64_t> want) {
    int dim = 0;
    for (int64_t n : want) extent(i, dim++, n);
    return *this;
}

Checks& Checks::same_extent(int i, int dim_i, int j, int dim_j) {
    if (ok() && src(i).ne[dim_i] != src(j).ne[dim_j]) {
        reject("%s has ne[%d] = %lld, %s has ne[%d] = %lld", SourceName(call_, i).text, dim_i,
               (long long)src(i).ne[dim_i], SourceName(call_, j).text, dim_j,
               (long long)src(j).ne[dim_j]);
    }
    return *this;
}

Checks& Checks::same_shape(int i, int j) {
    if (ok() && !tenon::same_shape(src(i), src(j))) {
        reject("%s has shape %s, %s has %s", SourceName(call_, i).text, ShapeText(src(i).ne).text,
               SourceName(call_, j).text, ShapeText(src(j).ne).text);
    }
    return *this;
}

Checks& Checks::multiple_of(int i, int dim_i, int j, int dim_j) {
    if (ok() && !divides(src(j).ne[dim_j], src(i).ne[dim_i])) {
        reject("%s has ne[%d] = %lld, no multiple of ne[%d] = %lld of %s",
               SourceName(call_, i).text, dim_i, (long long)src(i).ne[dim_i], dim_j,
               (long long)src(j).ne[dim_j], SourceName(call_, j).text);
    }
    return *this;
}

Checks& Checks::repeats(int i, int j) {
    if (ok() && !can_repeat(src(i).ne, src(j).ne)) {
        reject("%s of shape %s cannot be repeated to %s of shape %s", SourceName(call_, i).text,
               ShapeText(src(i).ne).text, SourceName(call_, j).text, ShapeText(src(j).ne).text);
    }
    return *this;
}

Checks& Checks::repeats_to(int i, const int64_t (&ne)[GGML_MAX_DIMS]) {
    if (ok() && !can_repeat(src(i).ne, ne)) {
        reject("%s of shape %s cannot be repeated to %s", SourceName(call_, i).text,
               ShapeText(src(i).ne).text, ShapeText(ne).text);
    }
    return *this;
}

Checks& Checks::repeats_from(int i, const int64_t (&ne)[GGML_MAX_DIMS]) {
    if (ok() && !can_repeat(ne, src(i).ne)) {
        reject("%s of shape %s is no repetition of %s", SourceName(call_, i).text,
               ShapeText(src(i).ne).text, ShapeText(ne).text);
    }
    return *this;
}

Checks& Checks::elements(int i, int64_t want) {
    if (ok() && nelements(src(i)) != want) {
        reject("%s of shape %s has %lld elements, must have %lld", SourceName(call_, i).text,
               ShapeText(src(i).ne).text, (long long)nelements(src(i)), (long long)want);
    }
    return *this;
}

Checks& Checks::dims_at_most(int i, int n) {
    for (int dim = n; ok() && dim < GGML_MAX_DIMS; dim++) {
        if (src(i).ne[dim] != 1) {
            reject("%s of shape %s has more than %d dimensions", SourceName(call_, i).text,
                   ShapeText(src(i).ne).text, n);
        }
    }
    return *this;
}

Checks& Checks::contiguous(std::initializer_list<int> sources) {
    for (int i : sources) {
        if (ok() && !is_contiguous(src(i))) {
            reject("%s is not contiguous: shape %s, strides %s", SourceName(call_, i).text,
                   ShapeText(src(i).ne).text, StrideText(src(i)).text);
        }
    }
    return *this;
}

Checks& Checks::contiguous_1(int i) {
    if (ok() && !is_contiguous(src(i), 1)) {
        reject("%s does not have dense rows at one distance: shape %s, strides %s",
               SourceName(call_, i).text, ShapeText(src(i).ne).text, StrideText(src(i)).text);
    }
    return *this;
}

Checks& Checks::contiguous_rows(int i) {
    if (ok() && !has_contiguous_rows(src(i))) {
        reject("%s does not have contiguous rows: nb[0] = %zu, must be %zu",
               SourceName(call_, i).text, src(i).nb[0], ggml_type_size(src(i).type));
    }
    return *this;
}

Checks& Checks::dense_elements(int i) {
    if (ok() && src(i).nb[0] != ggml_type_size(src(i).type)) {
        reject("%s has nb[0] = %zu, must be %zu", SourceName(call_, i).text, src(i).nb[0],
               ggml_type_size(src(i).type));
    }
    return *this;
}

Checks& Checks::padded_rows(int i) {
    dense_elements(i);
    if (!ok()) return *this;
    if (!is_padded_1d(src(i))) {
        reject("%s does not have its rows at one distance: shape %s, strides %s",
               SourceName(call_, i).text, ShapeText(src(i).ne).text, StrideText(src(i)).text);
    }
    return *this;
}

Checks& Checks::dense_matrices(int i) {
    dense_elements(i);
    if (!ok()) return *this;
    const size_t want = src(i).nb[0] * static_cast<size_t>(src(i).ne[0]);
    if (src(i).nb[1] != want) {
        reject("%s has nb[1] = %zu, must be %zu", SourceName(call_, i).text, src(i).nb[1], want);
    }
    return *this;
}

Checks& Checks::not_transposed(int i) {
    if (ok() && is_transposed(src(i))) {
        reject("%s is transposed: nb[0] = %zu, nb[1] = %zu", SourceName(call_, i).text,
               src(i).nb[0], src(i).nb[1]);
    }
    return *this;
}

Checks& Checks::at_least(const char* what, int64_t value, int64_t least) {
    return require(value >= least, "%s is %lld, must be at least %lld", what, (long long)value,
                   (long long)least);
}

Checks& Checks::between(const char* what, int64_t value, int64_t least, int64_t most) {
    return require(value >= least && value <= most, "%s is %lld, must be %lld to %lld", what,
                   (long long)value, (long long)least, (long long)most);
}

Result<NodeShape> Checks::result(ggml_type type, std::initializer_list<int64_t> ne) const {
    if (!ok()) return *error_;
    NodeShape shape{.type = type};
    int dim = 0;
    for (int64_t n : ne) shape.ne[dim++] = n;
    return shape;
}

Result<NodeShape> Checks::result(const NodeShape& shape) const {
    if (!ok()) return *error_;
    return shape;
}

Result<NodeShape> Checks::like(int i) const {
    if (!ok()) return *error_;
    return shape_of(src(i));
}

NodeShape shape_of(const ggml_tensor& t) { return {t.type, {t.ne[0], t.ne[1], t.ne[2], t.ne[3]}}; }

int64_t plus(int64_t a, int64_t b) {
    int64_t sum;
    if (!__builtin_add_overflow(a, b, &sum)) return sum;
    return a > 0 ? std::numeric_limits<int64_t>::max() : std::numeric_limits<int64_t>::min();
}

int64_t times(int64_t a, int64_t b) {
    int64_t product;
    if (!__builtin_mul_overflow(a, b, &product)) return product;
    return (a < 0) == (b < 0) ? std::numeric_limits<int64_t>::max()
                              : std::numeric_limits<int64_t>::min();
}

}  // namespace tenon
