// Whether a shared object may be given to the dynamic linker, which follows what stands in program
// headers and the dynamic section without looking: a damaged file would end the process.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "loader/elf_file.h"

namespace tenon {

// The dynamic section: the last value of each tag, as the dynamic linker sees it.
struct ElfDynamic {
    std::map<int64_t, uint64_t> values;
    std::vector<uint64_t> needed;  // offsets in the string table

    bool has(int64_t tag) const { return values.contains(tag); }
    uint64_t operator[](int64_t tag) const {
        const auto it = values.find(tag);
        return it == values.end() ? 0 : it->second;
    }
};

// Everything below, in order. The headers have been read.
Check check_elf(const ElfFile& file);

// Segments: in order, apart from each other, and the special ones inside those that are loaded.
Check check_segments(const ElfFile& file);

// The section headers, if the file has any, agree with the segments.
Check check_sections(const ElfFile& file);

// Reads the dynamic section of a file whose segments are in order.
Check read_dynamic(const ElfFile& file, ElfDynamic* out);

// Every table the dynamic section points at lies in the file and leads nowhere else.
Check check_dynamic(const ElfFile& file, const ElfDynamic& dynamic);

// Relocations and the functions run at start and end; `newest_version` is the largest index the
// version tables define.
Check check_relocations(const ElfFile& file, const ElfDynamic& dynamic, uint32_t newest_version);

// One entry of the symbol table.
Check check_symbol(const ElfFile& file, const ElfDynamic& dynamic, uint64_t index,
                   uint32_t newest_version);

// Names of the libraries the file needs, in order.
std::vector<std::string> needed_names(const ElfFile& file, const ElfDynamic& dynamic);

}  // namespace tenon
