// Tensors: creation, views of memory, names, flags.

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "core/base/bits.h"
#include "core/tensor/context.h"
#include "core/tensor/shape.h"
#include "ggml-backend.h"

namespace tenon {
namespace {

struct Layout {
    int64_t ne[GGML_MAX_DIMS] = {1, 1, 1, 1};
    size_t nb[GGML_MAX_DIMS] = {};
    size_t bytes = 0;
};

Error shape_error(ggml_type type, const int64_t* ne, const char* what) {
    return fail(TENON_E_INVALID, "tensor of %s, shape [%lld, %lld, %lld, %lld]: %s",
                tenon_types[type].name, static_cast<long long>(ne[0]),
                static_cast<long long>(ne[1]), static_cast<long long>(ne[2]),
                static_cast<long long>(ne[3]), what);
}

// Extents, contiguous strides and bytes. Empty dimensions count as 1 in the search for overflows,
// so that products of some of the extents fit as well.
Result<Layout> contiguous_layout(ggml_type type, int n_dims, const int64_t* ne) {
    if (!is_usable_type(type)) {
        return fail(TENON_E_INVALID, "tensor type %d does not exist", static_cast<int>(type));
    }
    if (n_dims < 1 || n_dims > GGML_MAX_DIMS || !ne) {
        return fail(TENON_E_INVALID, "a tensor cannot have %d dimensions, only 1 to %d", n_dims,
                    GGML_MAX_DIMS);
    }
    Layout layout;
    std::copy_n(ne, n_dims, layout.ne);
    const tenon_type& row = tenon_types[type];
    int64_t elements = 1;
    for (const int64_t extent : layout.ne) {
        if (extent < 0) return shape_error(type, layout.ne, "an extent is negative");
        if (__builtin_mul_overflow(elements, std::max<int64_t>(extent, 1), &elements)) {
            return shape_error(type, layout.ne, "more elements than an int64 counts");
        }
    }
    if (layout.ne[0] % row.block != 0) {
        char what[96];
        std::snprintf(what, sizeof what, "%lld is not a multiple of the block size %lld",
                      static_cast<long long>(layout.ne[0]), static_cast<long long>(row.block));
        return shape_error(type, layout.ne, what);
    }
    const int64_t blocks = elements / row.block;
    int64_t limit;
    if (__builtin_mul_overflow(blocks, static_cast<int64_t>(row.bytes), &limit)) {
        return shape_error(type, layout.ne, "more bytes than an address space has");
    }
    layout.nb[0] = row.bytes;
    layout.nb[1] = row.bytes * static_cast<size_t>(layout.ne[0] / row.block);
    layout.nb[2] = layout.nb[1] * static_cast<size_t>(layout.ne[1]);
    layout.nb[3] = layout.nb[2] * static_cast<size_t>(layout.ne[2]);
    layout.bytes = layout.nb[3] * static_cast<size_t>(layout.ne[3]);
    return layout;
}

// Moves a view onto the tensor that owns the memory, and checks that it ends inside.
Result<void> resolve_view(ggml_tensor*& view_src, size_t& view_offs, size_t bytes) {
    if (view_src->view_src) {
        if (!add_size(view_offs, view_src->view_offs, &view_offs)) {
            return fail(TENON_E_INVALID, "view of '%s': offset %zu overflows", view_src->name,
                        view_offs);
        }
        view_src = view_src->view_src;
    }
    const size_t limit = nbytes(*view_src);
    if (bytes != 0 && !range_fits(view_offs, bytes, limit)) {
        return fail(TENON_E_INVALID,
                    "view of '%s': %zu bytes at offset %zu end past the tensor's %zu bytes",
                    view_src->name, bytes, view_offs, limit);
    }
    return {};
}

Error flag_error(const ggml_tensor& tensor, const char* what) {
    return fail(TENON_E_INVALID, "tensor '%s' cannot be %s", tensor.name, what);
}

ggml_tensor* new_tensor(ggml_context* ctx, ggml_type type, int n_dims, const int64_t* ne) {
    return guard<ggml_tensor*>(nullptr, [&] { return new_tensor_impl(ctx, type, n_dims, ne); });
}

}  // namespace

Result<ggml_tensor*> new_tensor_impl(ggml_context* ctx, ggml_type type, int n_dims,
                                     const int64_t* ne, ggml_tensor* view_src, size_t view_offs) {
    if (!ctx) return fail(TENON_E_INVALID, "cannot create a tensor in a context that is null");
    const auto layout = contiguous_layout(type, n_dims, ne);
    if (!layout) return layout.error();
    if (view_src) {
        const auto resolved = resolve_view(view_src, view_offs, layout->bytes);
        if (!resolved) return resolved.error();
    }
    const size_t data_bytes = view_src || ctx->no_alloc ? 0 : layout->bytes;
    size_t bytes;
    if (!add_size(sizeof(ggml_tensor), data_bytes, &bytes)) bytes = SIZE_MAX;  // fits nowhere
    const auto payload = new_object(*ctx, GGML_OBJECT_TYPE_TENSOR, bytes);
    if (!payload) return payload.error();

    auto* tensor = static_cast<ggml_tensor*>(*payload);
    std::memset(tensor, 0, sizeof *tensor);
    tensor->type = type;
    std::copy_n(layout->ne, GGML_MAX_DIMS, tensor->ne);
    std::copy_n(layout->nb, GGML_MAX_DIMS, tensor->nb);
    tensor->view_src = view_src;
    tensor->view_offs = view_offs;
    if (view_src) {
        tensor->data = view_src->data ? static_cast<char*>(view_src->data) + view_offs : nullptr;
    } else if (data_bytes > 0) {
        tensor->data = tensor + 1;
    }
    return tensor;
}

void format_name(ggml_tensor& tensor, const char* fmt, ...) {
    va_list args;
    va_start(args, fmt);
    std::vsnprintf(tensor.name, sizeof tensor.name, fmt, args);
    va_end(args);
}

}  // namespace tenon

using namespace tenon;

// ---- creation -----------------------------------------------------------------------------------

extern "C" ggml_tensor* ggml_new_tensor(ggml_context* ctx, ggml_type type, int n_dims,
                                        const int64_t* ne) {
    return new_tensor(ctx, type, n_dims, ne);
}

extern "C" ggml_tensor* ggml_new_tensor_1d(ggml_context* ctx, ggml_type type, int64_t ne0) {
    return new_tensor(ctx, type, 1, &ne0);
}

extern "C" ggml_tensor* ggml_new_tensor_2d(ggml_context* ctx, ggml_type type, int64_t ne0,
                                           int64_t ne1) {
    const int64_t ne[] = {ne0, ne1};
    return new_tensor(ctx, type, 2, ne);
}

extern "C" ggml_tensor* ggml_new_tensor_3d(ggml_context* ctx, ggml_type type, int64_t ne0,
                                           int64_t ne1, int64_t ne2) {
    const int64_t ne[] = {ne0, ne1, ne2};
    return new_tensor(ctx, type, 3, ne);
}

extern "C" ggml_tensor* ggml_new_tensor_4d(ggml_context* ctx, ggml_type type, int64_t ne0,
                                           int64_t ne1, int64_t ne2, int64_t ne3) {
    const int64_t ne[] = {ne0, ne1, ne2, ne3};
    return new_tensor(ctx, type, 4, ne);
}

extern "C" ggml_tensor* ggml_dup_tensor(ggml_context* ctx, const ggml_tensor* src) {
    return src ? new_tensor(ctx, src->type, GGML_MAX_DIMS, src->ne) : nullptr;
}

extern "C" ggml_tensor* ggml_view_tensor(ggml_context* ctx, ggml_tensor* src) {
    return guard<ggml_tensor*>(nullptr, [&]() -> Result<ggml_tensor*> {
        if (!src) return nullptr;
        auto view = new_tensor_impl(ctx, src->type, GGML_MAX_DIMS, src->ne, src, 0);
        if (!view) return view;
        std::copy_n(src->nb, GGML_MAX_DIMS, (*view)->nb);
        format_name(**view, "%s (view)", src->name);
        return view;
    });
}

// ---- names --------------------------------------------------------------------------------------

extern "C" const char* ggml_get_name(const ggml_tensor* tensor) {
    return tensor ? tensor->name : "";
}

extern "C" ggml_tensor* ggml_set_name(ggml_tensor* tensor, const char* name) {
    if (!tensor) return nullptr;
    if (!name) name = "";
    const size_t length = ::strnlen(name, sizeof tensor->name - 1);
    std::memmove(tensor->name, name, length);  // the name may be the tensor's own
    tensor->name[length] = 0;
    return tensor;
}

extern "C" ggml_tensor* ggml_format_name(ggml_tensor* tensor, const char* fmt, ...) {
    if (!tensor || !fmt) return tensor;
    // Formatted apart: arguments may point into the tensor's present name.
    char name[sizeof tensor->name];
    va_list args;
    va_start(args, fmt);
    std::vsnprintf(name, sizeof name, fmt, args);
    va_end(args);
    return ggml_set_name(tensor, name);
}

// ---- flags --------------------------------------------------------------------------------------

extern "C" void ggml_set_input(ggml_tensor* tensor) {
    if (tensor) tensor->flags |= GGML_TENSOR_FLAG_INPUT;
}

extern "C" void ggml_set_output(ggml_tensor* tensor) {
    for (; tensor; tensor = tensor->view_src) tensor->flags |= GGML_TENSOR_FLAG_OUTPUT;
}

extern "C" void ggml_set_param(ggml_tensor* tensor) {
    guard_void([&]() -> Result<void> {
        if (!tensor) return {};
        if (tensor->op != GGML_OP_NONE) {
            return flag_error(*tensor, "a parameter: it is computed by an op");
        }
        tensor->flags |= GGML_TENSOR_FLAG_PARAM;
        return {};
    });
}

extern "C" void ggml_set_loss(ggml_tensor* tensor) {
    guard_void([&]() -> Result<void> {
        if (!tensor) return {};
        if (!is_scalar(*tensor) || tensor->type != GGML_TYPE_F32) {
            return flag_error(*tensor, "a loss: a loss is one f32 element");
        }
        tensor->flags |= GGML_TENSOR_FLAG_LOSS;
        return {};
    });
}

// ---- access -------------------------------------------------------------------------------------

extern "C" void* ggml_get_data(const ggml_tensor* tensor) {
    return tensor ? tensor->data : nullptr;
}

extern "C" float* ggml_get_data_f32(const ggml_tensor* tensor) {
    return guard<float*>(nullptr, [&]() -> Result<float*> {
        if (!tensor) return nullptr;
        if (tensor->type != GGML_TYPE_F32) {
            return fail(TENON_E_INVALID, "tensor '%s' is %s, not f32", tensor->name,
                        ggml_type_name(tensor->type));
        }
        return static_cast<float*>(tensor->data);
    });
}

extern "C" void ggml_unravel_index(const ggml_tensor* tensor, int64_t i, int64_t* i0, int64_t* i1,
                                   int64_t* i2, int64_t* i3) {
    if (!tensor || is_empty(*tensor)) return;
    const int64_t* ne = tensor->ne;
    if (i0) *i0 = i % ne[0];
    i /= ne[0];
    if (i1) *i1 = i % ne[1];
    i /= ne[1];
    if (i2) *i2 = i % ne[2];
    if (i3) *i3 = i / ne[2];
}

extern "C" ggml_unary_op ggml_get_unary_op(const ggml_tensor* tensor) {
    if (tensor && tensor->op == GGML_OP_UNARY) {
        return static_cast<ggml_unary_op>(tensor->op_params[0]);
    }
    report(fail(TENON_E_INVALID, "tensor '%s' is no unary node", ggml_get_name(tensor)));
    return GGML_UNARY_OP_COUNT;
}

extern "C" ggml_glu_op ggml_get_glu_op(const ggml_tensor* tensor) {
    if (tensor && tensor->op == GGML_OP_GLU) return static_cast<ggml_glu_op>(tensor->op_params[0]);
    report(fail(TENON_E_INVALID, "tensor '%s' is no GLU node", ggml_get_name(tensor)));
    return GGML_GLU_OP_COUNT;
}

extern "C" ggml_tensor* ggml_set_zero(ggml_tensor* tensor) {
    return guard<ggml_tensor*>(tensor, [&]() -> Result<ggml_tensor*> {
        if (!tensor || is_empty(*tensor)) return tensor;
        if (auto ok = check_inside(*tensor); !ok) return ok.error();
        if (tensor->buffer) {
            ggml_backend_tensor_memset(tensor, 0, 0, nbytes(*tensor));
        } else if (tensor->data) {
            std::memset(tensor->data, 0, nbytes(*tensor));
        } else {
            return fail(TENON_E_INVALID, "tensor '%s' has no memory to set to zero", tensor->name);
        }
        return tensor;
    });
}
