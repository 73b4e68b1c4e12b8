// Shape and layout of tensors: definitions, and the predicates of the ggml API over them.

#include "core/tensor/shape.h"

#include "core/base/bits.h"

namespace tenon {

size_t nbytes(const ggml_tensor& t) {
    for (const int64_t extent : t.ne) {
        if (extent <= 0) return 0;
    }
    if (!is_usable_type(t.type)) return 0;  // nodes made by hand, which rules refuse later
    const tenon_type& type = tenon_types[t.type];
    size_t total = 0;
    int first;
    bool fits;
    if (type.block == 1) {
        total = type.bytes;
        first = 0;
        fits = true;
    } else {
        // ne0 * nb0 / block, without the large product
        const auto blocks = static_cast<size_t>(t.ne[0] / type.block);
        const auto rest = static_cast<size_t>(t.ne[0] % type.block);
        size_t part = 0;
        fits = mul_size(blocks, t.nb[0], &total) && mul_size(rest, t.nb[0], &part) &&
               add_size(total, part / static_cast<size_t>(type.block), &total);
        first = 1;
    }
    for (int k = first; fits && k < GGML_MAX_DIMS; ++k) {
        size_t span;
        fits = mul_size(static_cast<size_t>(t.ne[k] - 1), t.nb[k], &span) &&
               add_size(total, span, &total);
    }
    return fits ? total : SIZE_MAX;
}

bool is_inside(const ggml_tensor& t) {
    if (!t.view_src) return true;
    const size_t bytes = nbytes(t);
    return bytes == 0 || range_fits(t.view_offs, bytes, nbytes(*t.view_src));
}

Result<void> check_inside(const ggml_tensor& t) {
    if (is_inside(t)) return {};
    return fail(TENON_E_INVALID, "view '%s': %zu bytes at %zu are outside of %zu bytes", t.name,
                nbytes(t), t.view_offs, nbytes(*t.view_src));
}

bool is_contiguous(const ggml_tensor& t, int m, int n) {
    const tenon_type& type = tenon_types[t.type];
    size_t next = type.bytes;
    if (t.ne[0] != type.block && t.nb[0] != next) return false;
    next *= static_cast<size_t>(t.ne[0] / type.block);
    for (int k = 1; k < n; ++k) {
        if (k > m) {
            if (t.ne[k] != 1 && t.nb[k] != next) return false;
            next *= static_cast<size_t>(t.ne[k]);
        } else {
            next = static_cast<size_t>(t.ne[k]) * t.nb[k];
        }
    }
    return true;
}

bool same_shape(const ggml_tensor& a, const ggml_tensor& b) {
    return a.ne[0] == b.ne[0] && a.ne[1] == b.ne[1] && a.ne[2] == b.ne[2] && a.ne[3] == b.ne[3];
}

bool same_stride(const ggml_tensor& a, const ggml_tensor& b) {
    return a.nb[0] == b.nb[0] && a.nb[1] == b.nb[1] && a.nb[2] == b.nb[2] && a.nb[3] == b.nb[3];
}

bool can_repeat(const ggml_tensor& x, const ggml_tensor& y) {
    if (is_empty(x)) return is_empty(y);
    return y.ne[0] % x.ne[0] == 0 && y.ne[1] % x.ne[1] == 0 && y.ne[2] % x.ne[2] == 0 &&
           y.ne[3] % x.ne[3] == 0;
}

namespace {

// A tensor the layout questions can be asked about; applications fill in structs by hand, too.
bool is_sound(const ggml_tensor* t) { return t && is_usable_type(t->type); }

bool contiguous(const ggml_tensor* t, int m, int n) {
    return is_sound(t) && is_contiguous(*t, m, n);
}

}  // namespace
}  // namespace tenon

using namespace tenon;

extern "C" {

int64_t ggml_nelements(const ggml_tensor* t) { return t ? nelements(*t) : 0; }
int64_t ggml_nrows(const ggml_tensor* t) { return t ? nrows(*t) : 0; }
size_t ggml_nbytes(const ggml_tensor* t) { return is_sound(t) ? nbytes(*t) : 0; }

size_t ggml_nbytes_pad(const ggml_tensor* t) {
    size_t padded;
    return align_up_size(ggml_nbytes(t), GGML_MEM_ALIGN, &padded) ? padded : SIZE_MAX;
}

size_t ggml_element_size(const ggml_tensor* t) { return t ? ggml_type_size(t->type) : 0; }

int ggml_n_dims(const ggml_tensor* t) {
    if (!t) return 0;
    for (int k = GGML_MAX_DIMS - 1; k > 0; --k) {
        if (t->ne[k] > 1) return k + 1;
    }
    return 1;
}

bool ggml_is_empty(const ggml_tensor* t) { return t && is_empty(*t); }
bool ggml_is_view(const ggml_tensor* t) { return t && t->view_src; }
bool ggml_is_scalar(const ggml_tensor* t) { return t && is_scalar(*t); }
bool ggml_is_vector(const ggml_tensor* t) {
    return t && t->ne[1] == 1 && t->ne[2] == 1 && t->ne[3] == 1;
}
bool ggml_is_matrix(const ggml_tensor* t) { return t && t->ne[2] == 1 && t->ne[3] == 1; }
bool ggml_is_3d(const ggml_tensor* t) { return t && t->ne[3] == 1; }
bool ggml_is_transposed(const ggml_tensor* t) { return t && is_transposed(*t); }
bool ggml_is_permuted(const ggml_tensor* t) { return t && is_permuted(*t); }

bool ggml_is_contiguous(const ggml_tensor* t) { return contiguous(t, 0, 4); }
bool ggml_is_contiguous_0(const ggml_tensor* t) { return contiguous(t, 0, 4); }
bool ggml_is_contiguous_1(const ggml_tensor* t) { return contiguous(t, 1, 4); }
bool ggml_is_contiguous_2(const ggml_tensor* t) { return contiguous(t, 2, 4); }
bool ggml_is_contiguous_to_1(const ggml_tensor* t) { return contiguous(t, 0, 1); }
bool ggml_is_contiguous_to_2(const ggml_tensor* t) { return contiguous(t, 0, 2); }
bool ggml_is_contiguous_to_3(const ggml_tensor* t) { return contiguous(t, 0, 3); }

bool ggml_is_contiguous_rows(const ggml_tensor* t) {
    return is_sound(t) && has_contiguous_rows(*t);
}

bool ggml_is_contiguous_channels(const ggml_tensor* t) {
    return is_sound(t) && t->nb[2] == tenon_types[t->type].bytes && t->nb[0] > t->nb[2] &&
           t->nb[1] > t->nb[0];
}

bool ggml_is_contiguously_allocated(const ggml_tensor* t) {
    if (!is_sound(t)) return false;
    const tenon_type& type = tenon_types[t->type];
    return nbytes(*t) ==
           static_cast<size_t>(nelements(*t)) * type.bytes / static_cast<size_t>(type.block);
}

bool ggml_are_same_shape(const ggml_tensor* a, const ggml_tensor* b) {
    return a && b && same_shape(*a, *b);
}
bool ggml_are_same_stride(const ggml_tensor* a, const ggml_tensor* b) {
    return a && b && same_stride(*a, *b);
}
bool ggml_can_repeat(const ggml_tensor* x, const ggml_tensor* y) {
    return x && y && can_repeat(*x, *y);
}

}  // extern "C"
