// Model files for the gguf tests: bytes put together by hand, the shared corpus, and RAII handles.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "gguf.h"
#include "tenon/tenon.h"

namespace tenon::test {

using Bytes = std::vector<uint8_t>;

struct GgufFree {
    void operator()(gguf_context* ctx) const { gguf_free(ctx); }
};
struct GgmlFree {
    void operator()(ggml_context* ctx) const { ggml_free(ctx); }
};
struct FileClose {
    void operator()(std::FILE* file) const { std::fclose(file); }
};
using Gguf = std::unique_ptr<gguf_context, GgufFree>;
using Ggml = std::unique_ptr<ggml_context, GgmlFree>;
using File = std::unique_ptr<std::FILE, FileClose>;

// The three ways to open a file.
enum class Mode { kMetaOnly, kNoAlloc, kLoad };
constexpr Mode kModes[] = {Mode::kMetaOnly, Mode::kNoAlloc, Mode::kLoad};

struct Opened {
    Gguf file;
    Ggml tensors;
    std::string error;  // of a failed open
};

// Opens by `init(params)` and checks what holds for every way of opening.
template <class Init>
Opened open(Mode mode, Init&& init) {
    // A variable that points nowhere must not survive a failure.
    auto* tensors = reinterpret_cast<ggml_context*>(uintptr_t{0xdead});
    const gguf_init_params params{mode == Mode::kNoAlloc,
                                  mode == Mode::kMetaOnly ? nullptr : &tensors};
    tenon_clear_error();
    Opened out;
    out.file.reset(init(params));
    if (mode != Mode::kMetaOnly) {
        EXPECT_EQ(tensors != nullptr, out.file != nullptr);
        out.tensors.reset(tensors);
    }
    out.error = tenon_last_error();
    EXPECT_EQ(out.error.empty(), out.file != nullptr) << out.error;
    EXPECT_EQ(out.error.find('\n'), std::string::npos) << "one line";
    return out;
}

inline Opened open_bytes(const Bytes& bytes, Mode mode) {
    return open(mode, [&](gguf_init_params params) {
        return gguf_init_from_buffer(bytes.data(), bytes.size(), params);
    });
}

// A temporary file with these bytes, at its start.
inline File file_with(const Bytes& bytes) {
    File file(std::tmpfile());
    if (file && !bytes.empty()) std::fwrite(bytes.data(), 1, bytes.size(), file.get());
    if (file) std::rewind(file.get());
    return file;
}

// Everything a context writes.
inline Bytes written(const gguf_context* ctx, bool only_meta, bool* ok = nullptr) {
    File file(std::tmpfile());
    const bool done = gguf_write_to_file_ptr(ctx, file.get(), only_meta);
    if (ok) *ok = done;
    Bytes bytes(static_cast<size_t>(std::ftell(file.get())));
    std::rewind(file.get());
    EXPECT_EQ(std::fread(bytes.data(), 1, bytes.size(), file.get()), bytes.size());
    return bytes;
}

// Read with data, then written again.
inline Bytes copied(const Bytes& bytes) {
    Opened in = open_bytes(bytes, Mode::kLoad);
    if (!in.file) return {};
    for (int64_t i = 0; i < gguf_get_n_tensors(in.file.get()); ++i) {
        const char* name = gguf_get_tensor_name(in.file.get(), i);
        gguf_set_tensor_data(in.file.get(), name, ggml_get_tensor(in.tensors.get(), name)->data);
    }
    return written(in.file.get(), /*only_meta=*/false);
}

// Puts a file together field by field; nothing is checked, so that it can be wrong on purpose.
class Builder {
public:
    template <class T>
    Builder& number(T value) {
        const auto* p = reinterpret_cast<const uint8_t*>(&value);
        bytes.insert(bytes.end(), p, p + sizeof value);
        return *this;
    }
    Builder& text(std::string_view text) {
        number<uint64_t>(text.size());
        bytes.insert(bytes.end(), text.begin(), text.end());
        return *this;
    }
    Builder& header(int64_t n_tensors, int64_t n_kv, uint32_t version = 3) {
        for (char c : {'G', 'G', 'U', 'F'}) bytes.push_back(static_cast<uint8_t>(c));
        return number(version).number(n_tensors).number(n_kv);
    }
    Builder& u32(std::string_view key, uint32_t value) {
        return text(key).number<int32_t>(GGUF_TYPE_UINT32).number(value);
    }
    Builder& tensor(std::string_view name, std::vector<int64_t> ne, int32_t type, uint64_t offset) {
        text(name).number(static_cast<uint32_t>(ne.size()));
        for (int64_t n : ne) number(n);
        return number(type).number(offset);
    }
    Builder& pad(size_t alignment, uint8_t fill = 0) {
        while (bytes.size() % alignment != 0) bytes.push_back(fill);
        return *this;
    }
    Builder& data(size_t size, uint8_t first = 1) {
        for (size_t i = 0; i < size; ++i) bytes.push_back(static_cast<uint8_t>(first + i));
        return *this;
    }
    Bytes bytes;
};

// The worked example of the format: a pair "a.b" = 7, a tensor "t" = {1, 2}; 128 bytes.
inline Bytes example() {
    Builder b;
    b.header(1, 1).u32("a.b", 7).tensor("t", {2}, GGML_TYPE_F32, 0).pad(32);
    b.number(1.0f).number(2.0f).pad(32);
    return b.bytes;
}

struct Case {
    std::string name;
    Bytes bytes;
    std::string result;  // of the three modes: Y opens, n does not
    std::string check;   // the check that refuses it first, "-" for none
};

// "00{ff*3}" -> 00 ff ff ff
inline Bytes from_hex(std::string_view hex) {
    Bytes out;
    const auto byte = [&](size_t at) {
        return static_cast<uint8_t>(std::stoul(std::string(hex.substr(at, 2)), nullptr, 16));
    };
    for (size_t i = 0; i < hex.size();) {
        if (hex[i] != '{') {
            out.push_back(byte(i));
            i += 2;
            continue;
        }
        const size_t end = hex.find('}', i);
        const size_t times = std::stoul(std::string(hex.substr(i + 4, end - i - 4)));
        out.insert(out.end(), times, byte(i + 1));
        i = end + 1;
    }
    return out;
}

inline std::vector<Case> corpus() {
    std::ifstream in(TENON_TEST_DATA "/data/gguf-cases.tsv");
    std::vector<Case> cases;
    std::string line;
    std::getline(in, line);  // titles
    while (std::getline(in, line)) {
        std::istringstream row(line);
        std::string name, hex, upstream, result, check;
        std::getline(row, name, '\t');
        std::getline(row, hex, '\t');
        std::getline(row, upstream, '\t');
        std::getline(row, result, '\t');
        std::getline(row, check, '\t');
        cases.push_back({name, from_hex(hex), result, check});
    }
    return cases;
}

inline Bytes read_bytes(const char* path) {
    std::ifstream in(path, std::ios::binary);
    return Bytes(std::istreambuf_iterator<char>(in), {});
}

// A stream of bytes behind a callback that checks what the reader asks for.
struct CheckedReader {
    const Bytes& bytes;
    size_t max_chunk;
    uint64_t bound;
    bool all_or_nothing = false;  // nothing, rather than a part, at the end
    uint64_t next = 0;            // offsets ascend
    uint64_t received = 0;        // bytes handed out

    static size_t read(void* user, void* output, uint64_t offset, size_t length) {
        auto& self = *static_cast<CheckedReader*>(user);
        EXPECT_GT(length, 0u);
        EXPECT_GE(offset, self.next);
        EXPECT_LE(length, self.max_chunk > 0 ? self.max_chunk : SIZE_MAX);
        EXPECT_LE(offset, self.bound);
        EXPECT_LE(length, self.bound - offset);
        if (offset >= self.bytes.size()) return 0;
        const size_t there = self.bytes.size() - static_cast<size_t>(offset);
        if (length > there && self.all_or_nothing) return 0;
        const size_t n = std::min(length, there);
        std::memcpy(output, self.bytes.data() + offset, n);
        self.next = offset + n;
        self.received += n;
        return n;
    }
};

inline Opened open_reader(CheckedReader& reader, Mode mode) {
    return open(mode, [&](gguf_init_params params) {
        return gguf_init_from_callback(CheckedReader::read, &reader, reader.max_chunk, reader.bound,
                                       params);
    });
}

}  // namespace tenon::test
