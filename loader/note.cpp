// Reads the ELF note of a plugin without running, mapping or trusting a byte of the file.

#include "loader/note.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/base/bits.h"
#include "core/base/cpu_features.h"
#include "core/base/text.h"

namespace tenon {
namespace {

constexpr size_t kMaxHeaders = 256;
constexpr size_t kMaxNoteBytes = 4096;      // read of one segment
constexpr size_t kMaxDynamicBytes = 65536;  // read of the dynamic section
constexpr size_t kMaxNameBytes = 256;       // of a needed library

#if defined(__x86_64__)
constexpr Elf64_Half kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr Elf64_Half kMachine = EM_AARCH64;
#elif defined(__riscv)
constexpr Elf64_Half kMachine = EM_RISCV;
#else
constexpr Elf64_Half kMachine = EM_NONE;
#endif

// A file opened for reading at offsets; every range is checked against its size.
class File {
public:
    explicit File(const std::string& path)
        : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)) {
        struct stat st;
        if (fd_ >= 0 && ::fstat(fd_, &st) == 0) size_ = static_cast<size_t>(st.st_size);
    }
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    ~File() {
        if (fd_ >= 0) ::close(fd_);
    }

    bool is_open() const { return fd_ >= 0; }
    size_t size() const { return size_; }
    bool has(uint64_t offset, uint64_t n) const { return range_fits(offset, n, size_); }
    bool read(uint64_t offset, void* out, size_t n) const {
        if (!has(offset, n)) return false;
        for (size_t done = 0; done < n;) {
            const ssize_t got = ::pread(fd_, static_cast<char*>(out) + done, n - done,
                                        static_cast<off_t>(offset + done));
            if (got < 0 && errno == EINTR) continue;
            if (got <= 0) return false;
            done += static_cast<size_t>(got);
        }
        return true;
    }

private:
    int fd_;
    size_t size_ = 0;
};

Refusal truncated(uint64_t end, size_t size) {
    return {"truncated",
            text("needs %llu bytes, file has %zu", static_cast<unsigned long long>(end), size)};
}

Check read_headers(const File& file, Elf64_Ehdr* header, std::vector<Elf64_Phdr>* segments) {
    unsigned char magic[SELFMAG];
    if (!file.read(0, magic, sizeof magic) || std::memcmp(magic, ELFMAG, SELFMAG) != 0) {
        return Refusal{"not-elf", "no ELF magic number"};
    }
    unsigned char ident[EI_NIDENT];
    if (!file.read(0, ident, sizeof ident)) return truncated(sizeof ident, file.size());
    if (ident[EI_CLASS] != ELFCLASS64 || ident[EI_DATA] != ELFDATA2LSB) {
        return Refusal{"wrong-class", text("ELF class %u, byte order %u; needs 64 bits (2), little "
                                           "endian (1)",
                                           ident[EI_CLASS], ident[EI_DATA])};
    }
    if (!file.read(0, header, sizeof *header)) return truncated(sizeof *header, file.size());
    if (header->e_type != ET_DYN) {
        return Refusal{"not-shared", text("ELF type %u, a shared object has %u", header->e_type,
                                          static_cast<unsigned>(ET_DYN))};
    }
    if (header->e_machine != kMachine) {
        return Refusal{"wrong-machine", text("ELF machine %u, this library runs on %u",
                                             header->e_machine, static_cast<unsigned>(kMachine))};
    }
    if (header->e_phentsize != sizeof(Elf64_Phdr) || header->e_phnum > kMaxHeaders) {
        return Refusal{"bad-note",
                       text("%u program headers of %u bytes; at most %zu of %zu are read",
                            header->e_phnum, header->e_phentsize, kMaxHeaders, sizeof(Elf64_Phdr))};
    }
    segments->resize(header->e_phnum);
    const size_t bytes = segments->size() * sizeof(Elf64_Phdr);
    if (!file.read(header->e_phoff, segments->data(), bytes)) {
        return truncated(header->e_phoff + bytes, file.size());
    }
    for (const Elf64_Phdr& segment : *segments) {
        const bool in_file =
            segment.p_type == PT_LOAD || segment.p_type == PT_NOTE || segment.p_type == PT_DYNAMIC;
        if (in_file && !file.has(segment.p_offset, segment.p_filesz)) {
            return truncated(segment.p_offset + segment.p_filesz, file.size());
        }
    }
    return {};
}

bool terminated(const char* s, size_t n) { return std::memchr(s, 0, n) != nullptr; }

Check check_descriptor(const uint8_t* bytes, size_t size, tenon_note_desc* out) {
    if (size < sizeof *out) {
        return Refusal{"bad-note",
                       text("descriptor has %zu bytes, minor 0 has %zu", size, sizeof *out)};
    }
    std::memcpy(out, bytes, sizeof *out);
    if (out->desc_size < sizeof *out || out->desc_size > size) {
        return Refusal{"bad-note",
                       text("descriptor says %u bytes, the note has %zu", out->desc_size, size)};
    }
    struct Field {
        const char* name;
        const char* value;
        size_t size;
        bool required;
    };
    const Field fields[] = {{"family", out->family, sizeof out->family, true},
                            {"variant", out->variant, sizeof out->variant, false},
                            {"id", out->id, sizeof out->id, true},
                            {"version", out->version, sizeof out->version, false}};
    for (const Field& field : fields) {
        if (!terminated(field.value, field.size)) {
            return Refusal{"bad-note", text("%s has no NUL in %zu bytes", field.name, field.size)};
        }
        if (field.required && !field.value[0]) {
            return Refusal{"bad-note", text("%s is empty", field.name)};
        }
        if (!is_utf8(field.value)) return Refusal{"bad-note", text("%s is not UTF-8", field.name)};
    }
    if (out->arch != TENON_ARCH_ANY && out->arch != cpu_features().arch) {
        return Refusal{"bad-note", text("note is for architecture %u, the file for %u", out->arch,
                                        cpu_features().arch)};
    }
    return {};
}

// The notes of one segment; `found` when ours was among them, good or bad.
Check walk_notes(const std::vector<uint8_t>& segment, bool* found, tenon_note_desc* out) {
    constexpr size_t kOwnerBytes = sizeof TENON_NOTE_OWNER;
    for (size_t at = 0; range_fits(at, sizeof(Elf64_Nhdr) + kOwnerBytes, segment.size());) {
        Elf64_Nhdr note;
        std::memcpy(&note, &segment[at], sizeof note);
        const size_t name_at = at + sizeof note;
        const bool ours = note.n_namesz == kOwnerBytes && note.n_type == TENON_NOTE_PLUGIN &&
                          std::memcmp(&segment[name_at], TENON_NOTE_OWNER, kOwnerBytes) == 0;
        const uint64_t desc_at = name_at + align_up(uint64_t{note.n_namesz}, 4);
        const bool fits = range_fits(desc_at, note.n_descsz, segment.size());
        if (ours) {
            *found = true;
            if (fits) return check_descriptor(&segment[desc_at], note.n_descsz, out);
            return Refusal{"bad-note", text("descriptor of %u bytes in a segment of %zu",
                                            note.n_descsz, segment.size())};
        }
        if (!fits) break;  // somebody else's broken note
        at = desc_at + align_up(uint64_t{note.n_descsz}, 4);
    }
    return {};
}

}  // namespace

Check read_note(const std::string& path, tenon_note_desc* out) {
    const File file(path);
    if (!file.is_open()) return Refusal{"unreadable", std::strerror(errno)};
    Elf64_Ehdr header;
    std::vector<Elf64_Phdr> segments;
    if (Check no = read_headers(file, &header, &segments)) return no;
    for (const Elf64_Phdr& segment : segments) {
        if (segment.p_type != PT_NOTE) continue;
        std::vector<uint8_t> bytes(segment.p_filesz < kMaxNoteBytes ? segment.p_filesz
                                                                    : kMaxNoteBytes);
        if (!file.read(segment.p_offset, bytes.data(), bytes.size())) {
            return truncated(segment.p_offset + bytes.size(), file.size());
        }
        bool found = false;
        Check bad = walk_notes(bytes, &found, out);
        if (found) return bad;
    }
    return Refusal{"no-note", "a shared object, but no Tenon plugin"};
}

std::vector<std::string> needed_libraries(const std::string& path) {
    const File file(path);
    Elf64_Ehdr header;
    std::vector<Elf64_Phdr> segments;
    if (!file.is_open() || read_headers(file, &header, &segments)) return {};

    std::vector<Elf64_Dyn> entries;
    for (const Elf64_Phdr& segment : segments) {
        if (segment.p_type != PT_DYNAMIC || segment.p_filesz > kMaxDynamicBytes) continue;
        entries.resize(segment.p_filesz / sizeof(Elf64_Dyn));
        if (!file.read(segment.p_offset, entries.data(), entries.size() * sizeof(Elf64_Dyn)))
            return {};
    }
    uint64_t strings = 0;  // virtual address of the string table
    for (const Elf64_Dyn& entry : entries) {
        if (entry.d_tag == DT_STRTAB) strings = entry.d_un.d_ptr;
    }
    uint64_t strings_at = 0, strings_end = 0;  // in the file
    for (const Elf64_Phdr& segment : segments) {
        if (segment.p_type != PT_LOAD || strings < segment.p_vaddr) continue;
        if (strings - segment.p_vaddr >= segment.p_filesz) continue;
        strings_at = segment.p_offset + (strings - segment.p_vaddr);
        strings_end = segment.p_offset + segment.p_filesz;
    }
    std::vector<std::string> names;
    for (const Elf64_Dyn& entry : entries) {
        if (entry.d_tag == DT_NULL) break;
        if (entry.d_tag != DT_NEEDED || entry.d_un.d_val >= strings_end - strings_at) continue;
        const uint64_t at = strings_at + entry.d_un.d_val;
        char name[kMaxNameBytes];
        const size_t n = strings_end - at < sizeof name ? strings_end - at : sizeof name;
        if (file.read(at, name, n) && terminated(name, n)) names.emplace_back(name);
    }
    return names;
}

}  // namespace tenon
