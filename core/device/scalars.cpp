// Direct access to elements in host memory: ggml_set_f32 and its relatives of ggml-cpu.h, and the
// conversions of rows.

#include <algorithm>
#include <cstring>

#include "core/base/result.h"
#include "core/device/buffer.h"
#include "core/tensor/shape.h"
#include "ggml-cpu.h"
#include "tenon/tensor.h"

namespace tenon {
namespace {

// Calls use(T{}) for the element type; false for types whose elements cannot be addressed.
template <class Use>
bool with_element_type(ggml_type type, Use&& use) {
    switch (type) {
        case GGML_TYPE_I8:
            use(int8_t{});
            return true;
        case GGML_TYPE_I16:
            use(int16_t{});
            return true;
        case GGML_TYPE_I32:
            use(int32_t{});
            return true;
        case GGML_TYPE_F32:
            use(float{});
            return true;
        case GGML_TYPE_F16:
            use(ggml_fp16_t{});
            return true;
        case GGML_TYPE_BF16:
            use(ggml_bf16_t{});
            return true;
        default:
            return false;
    }
}

// Numbers of the storage types as plain ones. ggml_fp16_t is an unsigned integer, so the element
// type tells it apart from nothing else in the list above.
float plain(ggml_fp16_t x) { return ggml_fp16_to_fp32(x); }
float plain(ggml_bf16_t x) { return ggml_bf16_to_fp32(x); }
float plain(float x) { return x; }
int32_t plain(int8_t x) { return x; }
int32_t plain(int16_t x) { return x; }
int32_t plain(int32_t x) { return x; }

template <class Value>
void store(ggml_fp16_t* to, Value x) {
    *to = ggml_fp32_to_fp16(static_cast<float>(x));
}
template <class Value>
void store(ggml_bf16_t* to, Value x) {
    *to = ggml_fp32_to_bf16(static_cast<float>(x));
}
template <class Value, class T>
void store(T* to, Value x) {
    *to = static_cast<T>(x);
}

Error bad_type(const ggml_tensor& tensor) {
    return fail(TENON_E_INVALID, "tensor '%s': elements of type %s cannot be addressed",
                tensor.name, ggml_type_name(tensor.type));
}

// Address of element (i0, i1, i2, i3).
Result<char*> element(const ggml_tensor* tensor, int64_t i0, int64_t i1, int64_t i2, int64_t i3) {
    if (!tensor) return fail(TENON_E_INVALID, "tensor is null");
    if (!tensor->data) return fail(TENON_E_INVALID, "tensor '%s' has no memory", tensor->name);
    const ggml_backend_buffer* buffer = tenon_effective_buffer(tensor);
    if (buffer && !buffer->type->is_host()) {
        return fail(TENON_E_INVALID, "tensor '%s' lies in %s, which the host cannot address",
                    tensor->name, buffer->type->name.c_str());
    }
    if (auto ok = check_inside(*tensor); !ok) return ok.error();
    const int64_t index[GGML_MAX_DIMS] = {i0, i1, i2, i3};
    size_t offset = 0;
    for (int k = 0; k < GGML_MAX_DIMS; ++k) {
        if (index[k] < 0 || index[k] >= tensor->ne[k]) {
            return fail(TENON_E_INVALID, "tensor '%s': index %lld of %lld in dimension %d",
                        tensor->name, static_cast<long long>(index[k]),
                        static_cast<long long>(tensor->ne[k]), k);
        }
        offset += static_cast<size_t>(index[k]) * tensor->nb[k];
    }
    return static_cast<char*>(tensor->data) + offset;
}

// Address of the i-th element, counted along rows.
Result<char*> element(const ggml_tensor* tensor, int64_t i) {
    if (!tensor) return fail(TENON_E_INVALID, "tensor is null");
    if (i < 0 || i >= nelements(*tensor)) {
        return fail(TENON_E_INVALID, "tensor '%s': index %lld of %lld", tensor->name,
                    static_cast<long long>(i), static_cast<long long>(nelements(*tensor)));
    }
    const int64_t *ne = tensor->ne, i1 = i / ne[0], i2 = i1 / ne[1];
    return element(tensor, i % ne[0], i1 % ne[1], i2 % ne[2], i2 / ne[2]);
}

template <class Value>
Result<Value> read(const ggml_tensor* tensor, Result<char*> at) {
    if (!at) return at.error();
    Value value{};
    const bool known = with_element_type(tensor->type, [&]<class T>(T x) {
        std::memcpy(&x, *at, sizeof x);
        value = static_cast<Value>(plain(x));
    });
    if (!known) return bad_type(*tensor);
    return value;
}

template <class Value>
Result<void> write(const ggml_tensor* tensor, Result<char*> at, Value value) {
    if (!at) return at.error();
    const bool known = with_element_type(tensor->type, [&]<class T>(T x) {
        store(&x, value);
        std::memcpy(*at, &x, sizeof x);
    });
    if (!known) return bad_type(*tensor);
    return {};
}

// All elements; rows may lie apart.
template <class Value>
Result<void> fill(ggml_tensor* tensor, Value value) {
    if (!tensor) return fail(TENON_E_INVALID, "tensor is null");
    if (is_empty(*tensor)) return {};
    const bool known = with_element_type(tensor->type, [](auto) {});
    if (!known) return bad_type(*tensor);
    for (int64_t i3 = 0; i3 < tensor->ne[3]; ++i3) {
        for (int64_t i2 = 0; i2 < tensor->ne[2]; ++i2) {
            for (int64_t i1 = 0; i1 < tensor->ne[1]; ++i1) {
                auto row = element(tensor, 0, i1, i2, i3);
                if (!row) return row.error();
                with_element_type(tensor->type, [&]<class T>(T x) {
                    store(&x, value);
                    for (int64_t i0 = 0; i0 < tensor->ne[0]; ++i0) {
                        std::memcpy(*row + static_cast<size_t>(i0) * tensor->nb[0], &x, sizeof x);
                    }
                });
            }
        }
    }
    return {};
}

template <class Value>
ggml_tensor* new_scalar(ggml_context* ctx, ggml_type type, Value value) {
    return guard<ggml_tensor*>(nullptr, [&]() -> Result<ggml_tensor*> {
        if (!ctx) return fail(TENON_E_INVALID, "context is null");
        if (ggml_get_no_alloc(ctx)) {
            return fail(TENON_E_INVALID, "cannot make a number: the context allocates no data");
        }
        ggml_tensor* tensor = ggml_new_tensor_1d(ctx, type, 1);
        if (!tensor) return nullptr;  // it has said why
        if (auto ok = fill(tensor, value); !ok) return ok.error();
        return tensor;
    });
}

// Whether there is something to convert; tells when it is missing.
bool has_row(const void* from, const void* to, int64_t n) {
    if (n > 0 && (!from || !to)) {
        report(fail(TENON_E_INVALID, "%lld elements to convert %s null", static_cast<long long>(n),
                    from ? "to" : "from"));
        return false;
    }
    return n > 0;
}

template <class Value>
ggml_tensor* set_all(ggml_tensor* tensor, Value value) {
    guard_void([&] { return fill(tensor, value); });
    return tensor;
}

}  // namespace
}  // namespace tenon

using namespace tenon;

extern "C" {

ggml_tensor* ggml_new_i32(ggml_context* ctx, int32_t value) {
    return new_scalar(ctx, GGML_TYPE_I32, value);
}
ggml_tensor* ggml_new_f32(ggml_context* ctx, float value) {
    return new_scalar(ctx, GGML_TYPE_F32, value);
}

ggml_tensor* ggml_set_i32(ggml_tensor* tensor, int32_t value) { return set_all(tensor, value); }
ggml_tensor* ggml_set_f32(ggml_tensor* tensor, float value) { return set_all(tensor, value); }

int32_t ggml_get_i32_1d(const ggml_tensor* tensor, int i) {
    return guard<int32_t>(0, [&] { return read<int32_t>(tensor, element(tensor, i)); });
}
void ggml_set_i32_1d(const ggml_tensor* tensor, int i, int32_t value) {
    guard_void([&] { return write(tensor, element(tensor, i), value); });
}
int32_t ggml_get_i32_nd(const ggml_tensor* tensor, int i0, int i1, int i2, int i3) {
    return guard<int32_t>(0,
                          [&] { return read<int32_t>(tensor, element(tensor, i0, i1, i2, i3)); });
}
void ggml_set_i32_nd(const ggml_tensor* tensor, int i0, int i1, int i2, int i3, int32_t value) {
    guard_void([&] { return write(tensor, element(tensor, i0, i1, i2, i3), value); });
}

float ggml_get_f32_1d(const ggml_tensor* tensor, int i) {
    return guard<float>(0.0f, [&] { return read<float>(tensor, element(tensor, i)); });
}
void ggml_set_f32_1d(const ggml_tensor* tensor, int i, float value) {
    guard_void([&] { return write(tensor, element(tensor, i), value); });
}
float ggml_get_f32_nd(const ggml_tensor* tensor, int i0, int i1, int i2, int i3) {
    return guard<float>(0.0f, [&] { return read<float>(tensor, element(tensor, i0, i1, i2, i3)); });
}
void ggml_set_f32_nd(const ggml_tensor* tensor, int i0, int i1, int i2, int i3, float value) {
    guard_void([&] { return write(tensor, element(tensor, i0, i1, i2, i3), value); });
}

void ggml_cpu_fp32_to_fp32(const float* x, float* y, int64_t n) {
    if (has_row(x, y, n)) std::memcpy(y, x, static_cast<size_t>(n) * sizeof *y);
}
void ggml_cpu_fp32_to_i32(const float* x, int32_t* y, int64_t n) {
    if (!has_row(x, y, n)) return;
    for (int64_t i = 0; i < n; ++i) y[i] = static_cast<int32_t>(x[i]);
}
void ggml_cpu_fp32_to_fp16(const float* x, ggml_fp16_t* y, int64_t n) {
    ggml_fp32_to_fp16_row(x, y, n);
}
void ggml_cpu_fp16_to_fp32(const ggml_fp16_t* x, float* y, int64_t n) {
    ggml_fp16_to_fp32_row(x, y, n);
}
void ggml_cpu_fp32_to_bf16(const float* x, ggml_bf16_t* y, int64_t n) {
    ggml_fp32_to_bf16_row(x, y, n);
}
void ggml_cpu_bf16_to_fp32(const ggml_bf16_t* x, float* y, int64_t n) {
    ggml_bf16_to_fp32_row(x, y, n);
}

}  // extern "C"
