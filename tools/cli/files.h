// Files the tools read: regular ones, opened once, never believed about more than their size.
//
// Pipes, devices and directories are refused in words: a pipe may never begin and a device never
// end. All errors are a Stop that names the file.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "ggml.h"
#include "gguf.h"

namespace tenon::cli {

class InputFile {
public:
    explicit InputFile(const std::string& path);
    ~InputFile();
    InputFile(const InputFile&) = delete;
    InputFile& operator=(const InputFile&) = delete;

    const std::string& path() const { return path_; }
    uint64_t size() const { return size_; }  // bytes, when it was opened
    int descriptor() const { return descriptor_; }

    // Up to `n` bytes from `at`; returns how many there were.
    size_t read(uint64_t at, void* out, size_t n) const;

private:
    std::string path_;
    int descriptor_;
    uint64_t size_;
};

// The metadata of a model file, and its tensors without data.
struct GgufFree {
    void operator()(gguf_context* ctx) const { gguf_free(ctx); }
};
struct GgmlFree {
    void operator()(ggml_context* ctx) const { ggml_free(ctx); }
};
struct Metadata {
    std::unique_ptr<gguf_context, GgufFree> gguf;
    std::unique_ptr<ggml_context, GgmlFree> tensors;
};
Metadata read_metadata(const InputFile& file);

// All of a text file, which may have `limit` bytes at most.
std::string read_text_file(const std::string& path, uint64_t limit);

// The whole file in memory without reading it, for looking only. When bytes of it are gone later,
// because the file was shortened or its disk fails, whoever touches them ends the program: with a
// text, where explain_lost_files() was called.
class MappedFile {
public:
    MappedFile() = default;
    explicit MappedFile(const InputFile& file);
    ~MappedFile();
    MappedFile(MappedFile&& other) noexcept;
    MappedFile& operator=(MappedFile&& other) noexcept;

    char* data() const { return data_; }  // NULL: nothing is mapped
    size_t size() const { return size_; }

private:
    char* data_ = nullptr;
    size_t size_ = 0;
};

// From here on, a byte of a mapped file that cannot be had ends the program with one line on stderr
// that names tool and file, and with kFailed. `tool` must live as long as the program.
void explain_lost_files(const char* tool);

}  // namespace tenon::cli
