// A shared object of this machine, read with pread: nothing of it is mapped, run or believed.

#include "loader/elf_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/base/bits.h"
#include "core/base/os.h"
#include "core/base/text.h"

namespace tenon {
namespace {

constexpr size_t kMaxHeaders = 256;
constexpr uint64_t kBlockBytes = 16384;

#if defined(__x86_64__)
constexpr Elf64_Half kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr Elf64_Half kMachine = EM_AARCH64;
#elif defined(__riscv)
constexpr Elf64_Half kMachine = EM_RISCV;
#else
constexpr Elf64_Half kMachine = EM_NONE;
#endif

bool is_in_file(const Elf64_Phdr& segment) {
    return segment.p_type == PT_LOAD || segment.p_type == PT_NOTE || segment.p_type == PT_DYNAMIC;
}

}  // namespace

Refusal truncated(uint64_t end, size_t size_bytes) {
    return {"truncated", text("needs %llu bytes, file has %zu",
                              static_cast<unsigned long long>(end), size_bytes)};
}

ElfFile::ElfFile(const std::string& path)
    : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)) {
    if (fd_ < 0) open_errno_ = errno;
    struct stat st;
    if (fd_ >= 0 && ::fstat(fd_, &st) == 0 && st.st_size > 0)
        size_ = static_cast<size_t>(st.st_size);
}

ElfFile::~ElfFile() {
    const os::NoCancel held_back;
    if (fd_ >= 0) ::close(fd_);
}

bool ElfFile::read_block(uint64_t offset, void* out, size_t n) const {
    for (size_t done = 0; done < n;) {
        const ssize_t got = ::pread(fd_, static_cast<char*>(out) + done, n - done,
                                    static_cast<off_t>(offset + done));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        done += static_cast<size_t>(got);
    }
    return true;
}

bool ElfFile::read(uint64_t offset, void* out, size_t n) const {
    if (!range_fits(offset, n, size_)) return false;
    const uint64_t number = offset / kBlockBytes, inside = offset % kBlockBytes;
    if (inside + n > kBlockBytes) return read_block(offset, out, n);
    Block& block = blocks_[number % blocks_.size()];
    if (block.number != number) {
        block.number = UINT64_MAX;
        block.bytes.resize(std::min<uint64_t>(kBlockBytes, size_ - number * kBlockBytes));
        if (!read_block(number * kBlockBytes, block.bytes.data(), block.bytes.size())) return false;
        block.number = number;
    }
    if (n > 0) std::memcpy(out, block.bytes.data() + inside, n);
    return true;
}

Check ElfFile::read_headers() {
    if (fd_ < 0) return Refusal{"unreadable", std::strerror(open_errno_)};
    unsigned char magic[SELFMAG];
    if (!read(0, magic, sizeof magic) || std::memcmp(magic, ELFMAG, SELFMAG) != 0) {
        return Refusal{"not-elf", "no ELF magic number"};
    }
    unsigned char ident[EI_NIDENT];
    if (!read(0, ident, sizeof ident)) return truncated(sizeof ident, size_);
    if (ident[EI_CLASS] != ELFCLASS64 || ident[EI_DATA] != ELFDATA2LSB) {
        return Refusal{"wrong-class", text("ELF class %u, byte order %u; needs 64 bits (2), little "
                                           "endian (1)",
                                           ident[EI_CLASS], ident[EI_DATA])};
    }
    if (!read(0, &header_, sizeof header_)) return truncated(sizeof header_, size_);
    if (header_.e_type != ET_DYN) {
        return Refusal{"not-shared", text("ELF type %u, a shared object has %u", header_.e_type,
                                          static_cast<unsigned>(ET_DYN))};
    }
    if (header_.e_machine != kMachine) {
        return Refusal{"wrong-machine", text("ELF machine %u, this library runs on %u",
                                             header_.e_machine, static_cast<unsigned>(kMachine))};
    }
    if (header_.e_phentsize != sizeof(Elf64_Phdr) || header_.e_phnum > kMaxHeaders) {
        return Refusal{"bad-note",
                       text("%u program headers of %u bytes; at most %zu of %zu are read",
                            header_.e_phnum, header_.e_phentsize, kMaxHeaders, sizeof(Elf64_Phdr))};
    }
    segments_.resize(header_.e_phnum);
    const size_t bytes = segments_.size() * sizeof(Elf64_Phdr);
    if (!read(header_.e_phoff, segments_.data(), bytes)) {
        return truncated(header_.e_phoff + bytes, size_);
    }
    for (const Elf64_Phdr& segment : segments_) {
        if (is_in_file(segment) && !range_fits(segment.p_offset, segment.p_filesz, size_)) {
            return truncated(segment.p_offset + segment.p_filesz, size_);
        }
    }
    return {};
}

const Elf64_Phdr* ElfFile::load_at(uint64_t address, uint64_t n, uint32_t flags) const {
    for (const Elf64_Phdr& segment : segments_) {
        if (segment.p_type != PT_LOAD || address < segment.p_vaddr) continue;
        if (range_fits(address - segment.p_vaddr, n, segment.p_memsz) &&
            (segment.p_flags & flags) == flags) {
            return &segment;
        }
    }
    return nullptr;
}

bool ElfFile::read_at(uint64_t address, void* out, size_t n) const {
    const Elf64_Phdr* load = load_at(address, n, PF_R);
    if (!load || !range_fits(address - load->p_vaddr, n, load->p_filesz)) return false;
    return read(load->p_offset + (address - load->p_vaddr), out, n);
}

bool ElfFile::text_at(uint64_t address, std::string* out) const {
    out->clear();
    for (char c; out->size() < kMaxText; out->push_back(c)) {
        if (!read_at(address + out->size(), &c, 1)) return false;
        if (c == 0) return true;
    }
    return false;
}

}  // namespace tenon
