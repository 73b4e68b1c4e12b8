// Reading model files piece by piece; declared in model_file.h.

#include "tools/rt_gguf/model_file.h"

#include <algorithm>
#include <cinttypes>
#include <cstring>

#include "tools/cli/cli.h"

namespace tenon::rt_gguf {
namespace {

// Calls f with a value of the C++ type that a native tensor type holds; false for all other types.
template <class F>
bool with_native_type(ggml_type type, F&& f) {
    switch (type) {
        case GGML_TYPE_F32:
            f.template operator()<float>();
            return true;
        case GGML_TYPE_F64:
            f.template operator()<double>();
            return true;
        case GGML_TYPE_I8:
            f.template operator()<int8_t>();
            return true;
        case GGML_TYPE_I16:
            f.template operator()<int16_t>();
            return true;
        case GGML_TYPE_I32:
            f.template operator()<int32_t>();
            return true;
        case GGML_TYPE_I64:
            f.template operator()<int64_t>();
            return true;
        default:
            return false;
    }
}

template <class Real>
void convert_to(ggml_type type, const void* in, int64_t n, Real* out) {
    const bool native = with_native_type(type, [&]<class T>() {
        const auto* bytes = static_cast<const char*>(in);
        for (int64_t i = 0; i < n; ++i) {
            T value;
            std::memcpy(&value, bytes + static_cast<size_t>(i) * sizeof(T), sizeof(T));
            out[i] = static_cast<Real>(value);
        }
    });
    if (native) return;
    const ggml_type_traits& traits = *ggml_get_type_traits(type);
    if constexpr (std::is_same_v<Real, float>) {
        traits.to_float(in, out, n);
    } else {
        std::vector<float> floats(static_cast<size_t>(n));
        traits.to_float(in, floats.data(), n);
        std::copy(floats.begin(), floats.end(), out);
    }
}

template <class T>
T element(const void* data, size_t i) {
    T value;
    std::memcpy(&value, static_cast<const char*>(data) + i * sizeof(T), sizeof(T));
    return value;
}

std::string number_text(gguf_type type, const void* data, size_t i) {
    switch (type) {
        case GGUF_TYPE_UINT8:
            return std::to_string(element<uint8_t>(data, i));
        case GGUF_TYPE_INT8:
            return std::to_string(element<int8_t>(data, i));
        case GGUF_TYPE_UINT16:
            return std::to_string(element<uint16_t>(data, i));
        case GGUF_TYPE_INT16:
            return std::to_string(element<int16_t>(data, i));
        case GGUF_TYPE_UINT32:
            return std::to_string(element<uint32_t>(data, i));
        case GGUF_TYPE_INT32:
            return std::to_string(element<int32_t>(data, i));
        case GGUF_TYPE_UINT64:
            return std::to_string(element<uint64_t>(data, i));
        case GGUF_TYPE_INT64:
            return std::to_string(element<int64_t>(data, i));
        case GGUF_TYPE_FLOAT32:
            return cli::format("%.7g", static_cast<double>(element<float>(data, i)));
        case GGUF_TYPE_FLOAT64:
            return cli::format("%.15g", element<double>(data, i));
        case GGUF_TYPE_BOOL:
            return element<uint8_t>(data, i) ? "true" : "false";
        default:
            return "?";
    }
}

}  // namespace

ModelFile::ModelFile(const std::string& path) : file_(path), metadata_(cli::read_metadata(file_)) {
    ggml_context* headers = metadata_.tensors.get();
    const ggml_tensor* header = ggml_get_first_tensor(headers);
    for (int64_t i = 0; header; ++i) {
        tensors_.push_back({header->name, header->type, header, gguf_get_tensor_offset(gguf(), i),
                            gguf_get_tensor_size(gguf(), i)});
        header = ggml_get_next_tensor(headers, const_cast<ggml_tensor*>(header));
    }
}

const Tensor* ModelFile::find(const std::string& name) const {
    const int64_t id = gguf_find_tensor(gguf(), name.c_str());
    return id < 0 ? nullptr : &tensors_[static_cast<size_t>(id)];
}

std::string ModelFile::missing(const Tensor& tensor) const {
    const uint64_t end = data_offset() + tensor.offset + tensor.size;
    if (end <= file_bytes()) return {};
    return cli::format("data ends at %" PRIu64 ", file has %" PRIu64 " bytes", end, file_bytes());
}

void ModelFile::expect_complete(const Tensor& tensor) const {
    const std::string text = missing(tensor);
    if (text.empty()) return;
    throw cli::stop(cli::kFailed, "'%s': tensor '%s': %s", path().c_str(), tensor.name.c_str(),
                    text.c_str());
}

void ModelFile::read(const Tensor& tensor, uint64_t from, void* out, size_t size) const {
    expect_complete(tensor);
    const uint64_t at = data_offset() + tensor.offset + from;
    const size_t got = file_.read(at, out, size);
    if (got == size) return;
    throw cli::stop(cli::kFailed,
                    "'%s': tensor '%s': %zu bytes at %" PRIu64 ", only %zu could be read",
                    path().c_str(), tensor.name.c_str(), size, at, got);
}

std::string shape_text(const Tensor& tensor) {
    std::string text = std::to_string(tensor.header->ne[0]);
    int last = GGML_MAX_DIMS - 1;
    while (last > 0 && tensor.header->ne[last] == 1) --last;
    for (int j = 1; j <= last; ++j) text += " x " + std::to_string(tensor.header->ne[j]);
    return text;
}

bool is_convertible(ggml_type type) {
    return with_native_type(type, []<class T>() {}) || ggml_get_type_traits(type)->to_float;
}

void convert(ggml_type type, const void* in, int64_t n, float* out) {
    convert_to(type, in, n, out);
}
void convert(ggml_type type, const void* in, int64_t n, double* out) {
    convert_to(type, in, n, out);
}

std::string value_text(const gguf_context* ctx, int64_t id, size_t most) {
    const bool is_array = gguf_get_kv_type(ctx, id) == GGUF_TYPE_ARRAY;
    const gguf_type type = is_array ? gguf_get_arr_type(ctx, id) : gguf_get_kv_type(ctx, id);
    const size_t n = gguf_get_arr_n(ctx, id);
    if (type == GGUF_TYPE_STRING && !is_array) return gguf_get_val_str(ctx, id);
    const void* data = type == GGUF_TYPE_STRING || n == 0 ? nullptr : gguf_get_arr_data(ctx, id);
    std::string text;
    for (size_t i = 0; i < std::min(n, most); ++i) {
        if (i > 0) text += ", ";
        text += data ? number_text(type, data, i)
                     : "\"" + std::string(gguf_get_arr_str(ctx, id, i)) + "\"";
    }
    if (n > most) text += ", …";
    return text;
}

std::string type_text(const gguf_context* ctx, int64_t id) {
    const gguf_type type = gguf_get_kv_type(ctx, id);
    if (type != GGUF_TYPE_ARRAY) return gguf_type_name(type);
    return cli::format("%s[%zu]", gguf_type_name(gguf_get_arr_type(ctx, id)),
                       gguf_get_arr_n(ctx, id));
}

}  // namespace tenon::rt_gguf
