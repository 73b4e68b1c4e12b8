// Bookkeeping of struct gguf_context: indices, offsets, layout of a dense tensor.

#include "core/gguf/context.h"

#include <cinttypes>
#include <cstring>

#include "core/base/bits.h"
#include "core/tensor/types.h"

namespace tenon::gguf {

void Kv::add_string(const void* bytes, size_t size) {
    const size_t start = data.size();
    data.resize(start + size + 1);
    if (size > 0) std::memcpy(data.data() + start, bytes, size);
    data[start + size] = 0;
    starts.push_back(start);
    ++n;
}

std::string_view Kv::string(uint64_t i) const {
    const uint64_t start = starts[i];
    const uint64_t end = i + 1 < starts.size() ? starts[i + 1] : data.size();
    return {reinterpret_cast<const char*>(data.data() + start), end - start - 1};
}

std::string shown(std::string_view text) {
    constexpr size_t kLongest = 64;
    std::string out(text.substr(0, kLongest));
    for (char& c : out) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20 || byte == 0x7F) c = '?';
    }
    if (text.size() > kLongest) {
        // The cut must not leave half a character.
        while (!out.empty() && (static_cast<unsigned char>(out.back()) & 0xC0) == 0x80) {
            out.pop_back();
        }
        if (!out.empty() && (static_cast<unsigned char>(out.back()) & 0x80)) out.pop_back();
        out += "...";
    }
    return out;
}

Error invalid(const char* fmt, ...) {
    va_list args;
    va_start(args, fmt);
    Error error = fail_v(TENON_E_INVALID, fmt, args);
    va_end(args);
    return error;
}

Result<void> set_dense_layout(TensorInfo& info, const char* what) {
    ggml_tensor& t = info.tensor;
    if (!is_usable_type(t.type)) {
        return invalid("%s: type %d is not in 0..%d or was removed", what, static_cast<int>(t.type),
                       GGML_TYPE_COUNT - 1);
    }
    const tenon_type& type = tenon_types[t.type];
    uint64_t product = 1;
    for (int j = 0; j < GGML_MAX_DIMS; ++j) {
        if (t.ne[j] < 0) return invalid("%s: ne[%d] is %" PRId64 ", below 0", what, j, t.ne[j]);
        // A dimension of zero counts as one: strides are products of the other dimensions.
        const auto extent = static_cast<uint64_t>(t.ne[j] > 0 ? t.ne[j] : 1);
        if (j == 0) {
            product = extent;
        } else if (static_cast<uint64_t>(INT64_MAX) / extent <= product) {
            return invalid("%s: ne[%d] = %" PRIu64 " times the %" PRIu64
                           " elements before it passes %" PRId64,
                           what, j, extent, product, INT64_MAX);
        }
        if (j > 0) product *= extent;
    }
    if (t.ne[0] % type.block != 0) {
        return invalid("%s: %s rows are multiples of %" PRId64 " elements, ne[0] is %" PRId64, what,
                       type.name, type.block, t.ne[0]);
    }
    const uint64_t block = static_cast<uint64_t>(type.block);
    const uint64_t n_blocks = product / block + (product % block != 0);
    if (n_blocks > SIZE_MAX / type.bytes) {
        return invalid("%s: %" PRIu64 " blocks of %zu bytes pass 2^64 bytes", what, n_blocks,
                       type.bytes);
    }
    t.nb[0] = type.bytes;
    t.nb[1] = type.bytes * static_cast<size_t>(t.ne[0] / type.block);
    for (int j = 2; j < GGML_MAX_DIMS; ++j)
        t.nb[j] = t.nb[j - 1] * static_cast<size_t>(t.ne[j - 1]);
    info.size = t.nb[3] * static_cast<size_t>(t.ne[3]);
    return {};
}

}  // namespace tenon::gguf

using tenon::gguf::Kv;
using tenon::gguf::TensorInfo;

int64_t gguf_context::find_kv(std::string_view key) const {
    const auto found = kv_index.find(key);
    return found == kv_index.end() ? -1 : static_cast<int64_t>(found->second);
}

int64_t gguf_context::find_tensor(std::string_view name) const {
    const auto found = tensor_index.find(name);
    return found == tensor_index.end() ? -1 : static_cast<int64_t>(found->second);
}

void gguf_context::put(std::unique_ptr<Kv> kv) {
    if (kvs.size() == kvs.capacity()) kvs.reserve(kvs.size() * 2 + 16);
    const int64_t old = find_kv(kv->key);
    if (old < 0) {
        kv_index.emplace(kv->key, kvs.size());
    } else {
        // The index entry moves to the new key: nothing from here on allocates.
        auto entry = kv_index.extract(kvs[static_cast<size_t>(old)]->key);
        remove(static_cast<size_t>(old));
        entry.key() = kv->key;
        entry.mapped() = kvs.size();
        kv_index.insert(std::move(entry));
    }
    kvs.push_back(std::move(kv));
}

void gguf_context::remove(size_t kv_id) noexcept {
    kv_index.erase(kvs[kv_id]->key);
    kvs.erase(kvs.begin() + static_cast<ptrdiff_t>(kv_id));
    for (auto& [key, id] : kv_index) {
        if (id > kv_id) --id;
    }
}

void gguf_context::append(const TensorInfo& info) {
    tensors.push_back(info);
    try {
        tensor_index.emplace(tensors.back().tensor.name, tensors.size() - 1);
    } catch (...) {
        tensors.pop_back();
        throw;
    }
}

tenon::Result<void> gguf_context::place_tensors(uint64_t new_alignment) {
    size_t sum = 0;
    for (const TensorInfo& info : tensors) {
        size_t padded;
        if (!tenon::align_up_size(info.size, new_alignment, &padded) ||
            !tenon::add_size(sum, padded, &sum)) {
            return tenon::gguf::invalid("tensor '%s': %" PRIu64 " bytes after %zu pass 2^64 bytes",
                                        tenon::gguf::shown(info.tensor.name).c_str(), info.size,
                                        sum);
        }
    }
    uint64_t offset = 0;
    for (TensorInfo& info : tensors) {
        info.offset = offset;
        offset += tenon::align_up(info.size, new_alignment);
    }
    alignment = new_alignment;
    data_size = offset;
    return {};
}
