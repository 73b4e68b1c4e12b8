// A file that appears under its name only when it is complete.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

namespace tenon::rt_gguf {

// Written under a temporary name in the same directory. commit() gives it its name, without ever
// replacing a file; anything else, a full disk or a signal included, leaves no file behind (a kill
// that cannot be caught leaves the temporary one). One at a time per process.
class OutputFile {
public:
    // Throws cli::Stop when `path` exists or nothing can be created beside it.
    explicit OutputFile(const std::string& path);
    ~OutputFile();
    OutputFile(const OutputFile&) = delete;
    OutputFile& operator=(const OutputFile&) = delete;

    // Both throw cli::Stop with the system's reason.
    void write(const void* data, size_t size);
    void commit();  // on disk, then named

    uint64_t written() const { return written_; }  // bytes

private:
    std::string path_;
    std::string temporary_;
    std::FILE* file_ = nullptr;
    uint64_t written_ = 0;
};

}  // namespace tenon::rt_gguf
