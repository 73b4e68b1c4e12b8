// The segments of a shared object, and what its sections say of them.

#include "loader/elf_check.h"

#include <unistd.h>

#include <bit>
#include <cstring>

#include "core/base/bits.h"
#include "core/base/text.h"

namespace tenon {
namespace {

constexpr uint64_t kMaxAddress = uint64_t{1} << 46;  // what user space has, with room to move
constexpr uint64_t kMaxAlignment = uint64_t{1} << 30;
constexpr uint64_t kMaxTlsBytes = uint64_t{1} << 26;
constexpr size_t kMaxNoteBytes = 65536;
constexpr uint64_t kSmallestPage = 4096;  // of all systems

using ull = unsigned long long;

Refusal bad_segment(size_t index, const Elf64_Phdr& segment, const char* what) {
    return {"bad-elf",
            text("program header %zu (type 0x%x, address 0x%llx, %llu bytes in the file "
                 "and %llu in memory): %s",
                 index, segment.p_type, static_cast<ull>(segment.p_vaddr),
                 static_cast<ull>(segment.p_filesz), static_cast<ull>(segment.p_memsz), what)};
}

// Of which the dynamic linker takes the last one it sees.
bool is_single(uint32_t type) {
    return type == PT_DYNAMIC || type == PT_TLS || type == PT_GNU_RELRO || type == PT_PHDR ||
           type == PT_GNU_EH_FRAME || type == PT_GNU_STACK || type == PT_GNU_PROPERTY;
}

uint64_t page_bytes() { return static_cast<uint64_t>(::sysconf(_SC_PAGESIZE)); }

// What holds for a load segment by itself; NULL when all of it does.
const char* fault_of_load(const Elf64_Phdr& s) {
    if (s.p_filesz > s.p_memsz) return "more bytes in the file than in memory";
    if (s.p_memsz == 0) return "no bytes";
    if (!(s.p_flags & PF_W) && s.p_filesz != s.p_memsz) return "read-only bytes not in the file";
    if (s.p_vaddr > kMaxAddress || s.p_memsz > kMaxAddress) return "beyond the address space";
    if (!std::has_single_bit(s.p_align) || s.p_align % page_bytes() != 0 ||
        s.p_align > kMaxAlignment) {
        return "its alignment is no multiple of a page";
    }
    if ((s.p_vaddr - s.p_offset) % s.p_align != 0) return "address and offset do not agree";
    if (s.p_flags & ~uint32_t{PF_R | PF_W | PF_X}) return "unknown permissions";
    return nullptr;
}

Check check_loads(const ElfFile& file) {
    uint64_t address_end = 0, offset_end = 0;
    const auto& segments = file.segments();
    for (size_t i = 0; i < segments.size(); ++i) {
        const Elf64_Phdr& s = segments[i];
        if (s.p_type != PT_LOAD) continue;
        if (const char* fault = fault_of_load(s)) return bad_segment(i, s, fault);
        // Segments are mapped page by page: two that share one overwrite each other.
        const uint64_t begin = s.p_vaddr / page_bytes() * page_bytes();
        if (begin < address_end) return bad_segment(i, s, "it overlaps a segment before it");
        if (s.p_filesz > 0 && s.p_offset < offset_end) {
            return bad_segment(i, s, "its bytes in the file overlap those of a segment before it");
        }
        address_end = align_up(s.p_vaddr + s.p_memsz, page_bytes());
        if (s.p_filesz > 0) offset_end = s.p_offset + s.p_filesz;
    }
    if (address_end == 0) return Refusal{"bad-elf", "no segment is loaded"};
    return {};
}

// Whether a segment lies where a load segment puts its bytes.
bool is_inside(const ElfFile& file, const Elf64_Phdr& s, uint64_t n, uint32_t flags) {
    const Elf64_Phdr* load = file.load_at(s.p_vaddr, n, flags);
    return load && range_fits(s.p_vaddr - load->p_vaddr, n, load->p_filesz) &&
           s.p_offset - load->p_offset == s.p_vaddr - load->p_vaddr;
}

// Read-only after relocation: up to the end of a page, all of one writable segment. Linkers count
// what is not in the file only where such a segment is nothing else.
bool is_inside_writable_pages(const ElfFile& file, const Elf64_Phdr& s) {
    if ((s.p_vaddr + s.p_memsz) % kSmallestPage != 0) return false;
    for (const Elf64_Phdr& load : file.segments()) {
        if (load.p_type != PT_LOAD || s.p_vaddr < load.p_vaddr) continue;
        const uint64_t end = align_up(load.p_vaddr + load.p_memsz, page_bytes());
        if (!range_fits(s.p_vaddr, s.p_memsz, end)) continue;
        return (load.p_flags & PF_W) && s.p_vaddr < load.p_vaddr + load.p_memsz &&
               (s.p_filesz == s.p_memsz || s.p_filesz == load.p_filesz);
    }
    return false;
}

// Notes are walked by the sizes that stand in them.
bool notes_fit(const ElfFile& file, const Elf64_Phdr& s) {
    if (s.p_filesz > kMaxNoteBytes || s.p_filesz != s.p_memsz) return false;
    const uint64_t align = s.p_align == 8 ? 8 : 4;
    for (uint64_t at = 0; at < s.p_filesz && s.p_filesz - at >= sizeof(Elf64_Nhdr);) {
        Elf64_Nhdr note;
        if (!file.read_at(s.p_vaddr + at, &note)) return false;
        const uint64_t desc_at = align_up(at + sizeof note + note.n_namesz, align);
        if (!range_fits(desc_at, note.n_descsz, s.p_filesz)) return false;
        at = align_up(desc_at + note.n_descsz, align);
    }
    return true;
}

const char* fault_of_special(const ElfFile& file, const Elf64_Phdr& s) {
    switch (s.p_type) {
        case PT_DYNAMIC:
            // Its entries are turned into addresses in place.
            return is_inside(file, s, s.p_filesz, PF_R | PF_W) ? nullptr
                                                               : "outside the writable segments";
        case PT_PHDR:
            return is_inside(file, s, s.p_filesz, PF_R) && s.p_offset == file.header().e_phoff &&
                           s.p_filesz == file.segments().size() * sizeof(Elf64_Phdr)
                       ? nullptr
                       : "it is not where the program headers are";
        case PT_GNU_EH_FRAME:
            return is_inside(file, s, s.p_filesz, PF_R) && s.p_filesz >= 4
                       ? nullptr
                       : "outside the segments that are loaded";
        case PT_NOTE:
        case PT_GNU_PROPERTY:
            if (!is_inside(file, s, s.p_filesz, PF_R)) return "outside the segments loaded";
            return notes_fit(file, s) ? nullptr : "a note in it ends beyond it";
        case PT_TLS:
            if (s.p_filesz > s.p_memsz) return "more bytes in the file than in memory";
            if (s.p_memsz > kMaxTlsBytes) return "too many bytes for each thread";
            if (!std::has_single_bit(s.p_align) || s.p_align > page_bytes()) {
                return "its alignment is no power of two up to a page";
            }
            return s.p_filesz == 0 || is_inside(file, s, s.p_filesz, PF_R)
                       ? nullptr
                       : "outside the segments that are loaded";
        case PT_GNU_RELRO:
            return is_inside_writable_pages(file, s) ? nullptr
                                                     : "not whole pages of a writable segment";
        default:
            return nullptr;
    }
}

const char* fault_of_section(const ElfFile& file, const Elf64_Shdr& s) {
    if (!(s.sh_flags & SHF_ALLOC) || s.sh_size == 0) return nullptr;
    if ((s.sh_flags & SHF_TLS) && s.sh_type == SHT_NOBITS) return nullptr;  // has no place
    uint32_t flags = PF_R;
    if (s.sh_flags & SHF_WRITE) flags |= PF_W;
    if (s.sh_flags & SHF_EXECINSTR) flags = (flags & ~uint32_t{PF_R}) | PF_X;
    const Elf64_Phdr* load = file.load_at(s.sh_addr, s.sh_size, flags);
    if (!load) return "no segment of its permissions holds it";
    if (s.sh_type == SHT_NOBITS) return nullptr;
    const uint64_t inside = s.sh_addr - load->p_vaddr;
    if (range_fits(inside, s.sh_size, load->p_filesz) && s.sh_offset == load->p_offset + inside) {
        return nullptr;
    }
    return "its segment loads other bytes of the file";
}

}  // namespace

Check check_segments(const ElfFile& file) {
    if (Check no = check_loads(file)) return no;
    const auto& segments = file.segments();
    for (size_t i = 0; i < segments.size(); ++i) {
        const Elf64_Phdr& s = segments[i];
        for (size_t k = 0; k < i && is_single(s.p_type); ++k) {
            if (segments[k].p_type == s.p_type) return bad_segment(i, s, "the second of its type");
        }
        if (const char* fault = fault_of_special(file, s)) return bad_segment(i, s, fault);
    }
    return {};
}

// Nobody loads by sections, but they tell what the segments were before the file was damaged.
Check check_sections(const ElfFile& file) {
    const Elf64_Ehdr& header = file.header();
    const uint64_t bytes = uint64_t{header.e_shnum} * sizeof(Elf64_Shdr);
    if (header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shoff == 0 ||
        !range_fits(header.e_shoff, bytes, file.size_bytes())) {
        return {};  // stripped
    }
    for (uint32_t i = 0; i < header.e_shnum; ++i) {
        Elf64_Shdr s;
        if (!file.read(header.e_shoff + i * sizeof s, &s, sizeof s)) return {};
        if (const char* fault = fault_of_section(file, s)) {
            return Refusal{"bad-elf",
                           text("section %u (address 0x%llx, %llu bytes): %s", i,
                                static_cast<ull>(s.sh_addr), static_cast<ull>(s.sh_size), fault)};
        }
    }
    return {};
}

Check check_elf(const ElfFile& file) {
    if (Check no = check_segments(file)) return no;
    if (Check no = check_sections(file)) return no;
    ElfDynamic dynamic;
    if (Check no = read_dynamic(file, &dynamic)) return no;
    return check_dynamic(file, dynamic);
}

}  // namespace tenon
