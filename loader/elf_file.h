// A shared object of this machine, read with pread: nothing of it is mapped, run or believed.
#pragma once

#include <elf.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "loader/candidate.h"

namespace tenon {

class ElfFile {
public:
    explicit ElfFile(const std::string& path);
    ElfFile(const ElfFile&) = delete;
    ElfFile& operator=(const ElfFile&) = delete;
    ~ElfFile();

    // The file and program headers. Everything below needs a file that passed it.
    Check read_headers();

    const Elf64_Ehdr& header() const { return header_; }
    const std::vector<Elf64_Phdr>& segments() const { return segments_; }
    size_t size_bytes() const { return size_; }

    // Bytes of the file at an offset; false when they are not all there.
    bool read(uint64_t offset, void* out, size_t n) const;

    // The load segment that holds n bytes at an address once mapped, with all of `flags` (PF_*);
    // NULL when there is none.
    const Elf64_Phdr* load_at(uint64_t address, uint64_t n, uint32_t flags = 0) const;

    // n bytes at an address as they will be mapped; false when they are not all from the file.
    bool read_at(uint64_t address, void* out, size_t n) const;
    template <class T>
    bool read_at(uint64_t address, T* out) const {
        return read_at(address, out, sizeof *out);
    }

    // The NUL-terminated text at an address, of at most kMaxText bytes. False when there is none.
    static constexpr size_t kMaxText = 4096;
    bool text_at(uint64_t address, std::string* out) const;

private:
    bool read_block(uint64_t offset, void* out, size_t n) const;

    int fd_;
    int open_errno_ = 0;
    size_t size_ = 0;
    Elf64_Ehdr header_{};
    std::vector<Elf64_Phdr> segments_;
    // Blocks read lately: several tables are read at once, entry by entry.
    struct Block {
        uint64_t number = UINT64_MAX;
        std::vector<uint8_t> bytes;
    };
    mutable std::array<Block, 16> blocks_;
};

// What is wrong with a file that is cut short.
Refusal truncated(uint64_t end, size_t size_bytes);

}  // namespace tenon
