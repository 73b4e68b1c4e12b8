// The dynamic section of a shared object: the tables it names, hash tables, symbols, versions.

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/base/text.h"
#include "loader/elf_check.h"

namespace tenon {
namespace {

constexpr size_t kMaxEntries = 4096;      // of the dynamic section
constexpr uint32_t kMaxVersions = 32768;  // an index has 15 bits
constexpr uint32_t kMaxStringBytes = 1u << 30;

using ull = unsigned long long;

Refusal bad_elf(std::string what) { return {"bad-elf", std::move(what)}; }

// A table by two tags; the second says its bytes. In parts because messages name it.
struct Table {
    const char* name;
    int64_t address, bytes, entry_bytes;  // tags; entry_bytes 0: none
    uint64_t entry_size;
    uint32_t flags;  // PF_* of the segment it must lie in
};
constexpr Table kTables[] = {
    {"string table", DT_STRTAB, DT_STRSZ, 0, 1, PF_R},
    {"relocations", DT_RELA, DT_RELASZ, DT_RELAENT, sizeof(Elf64_Rela), PF_R},
    {"relocations of functions", DT_JMPREL, DT_PLTRELSZ, 0, sizeof(Elf64_Rela), PF_R},
    {"relative relocations", DT_RELR, DT_RELRSZ, DT_RELRENT, sizeof(uint64_t), PF_R},
    {"functions run at start", DT_INIT_ARRAY, DT_INIT_ARRAYSZ, 0, sizeof(uint64_t), PF_R},
    {"functions run at end", DT_FINI_ARRAY, DT_FINI_ARRAYSZ, 0, sizeof(uint64_t), PF_R},
};

Check check_table(const ElfFile& file, const ElfDynamic& d, const Table& t) {
    if (!d.has(t.address)) {
        if (d.has(t.bytes)) return bad_elf(text("%s: no address", t.name));
        return {};
    }
    const uint64_t address = d[t.address], bytes = d[t.bytes];
    if (!d.has(t.bytes)) return bad_elf(text("%s: no size", t.name));
    if (t.entry_bytes && d[t.entry_bytes] != t.entry_size) {
        return bad_elf(text("%s: entries of %llu bytes, needs %llu", t.name,
                            static_cast<ull>(d[t.entry_bytes]), static_cast<ull>(t.entry_size)));
    }
    const Elf64_Phdr* load = file.load_at(address, bytes, t.flags);
    if (bytes % t.entry_size != 0 || !load ||
        bytes > load->p_filesz - std::min(load->p_filesz, address - load->p_vaddr)) {
        return bad_elf(text("%s: %llu bytes at address 0x%llx are not in the file", t.name,
                            static_cast<ull>(bytes), static_cast<ull>(address)));
    }
    return {};
}

// Tags that name an address without a size.
Check check_addresses(const ElfFile& file, const ElfDynamic& d) {
    struct Row {
        const char* name;
        int64_t tag;
        uint64_t bytes;
        uint32_t flags;
    };
    constexpr Row kRows[] = {
        {"symbol table", DT_SYMTAB, sizeof(Elf64_Sym), PF_R},
        {"hash table", DT_HASH, 8, PF_R},
        {"GNU hash table", DT_GNU_HASH, 16, PF_R},
        {"versions of symbols", DT_VERSYM, 2, PF_R},
        {"versions needed", DT_VERNEED, sizeof(Elf64_Verneed), PF_R},
        {"versions defined", DT_VERDEF, sizeof(Elf64_Verdef), PF_R},
        {"global offset table", DT_PLTGOT, 8, 0},
        {"function run at start", DT_INIT, 1, PF_X},
        {"function run at end", DT_FINI, 1, PF_X},
    };
    for (const Row& row : kRows) {
        if (!d.has(row.tag) || file.load_at(d[row.tag], row.bytes, row.flags)) continue;
        return bad_elf(text("%s: address 0x%llx is in no segment that fits", row.name,
                            static_cast<ull>(d[row.tag])));
    }
    for (const int64_t tag : {DT_STRTAB, DT_SYMTAB}) {
        if (!d.has(tag)) return bad_elf(tag == DT_STRTAB ? "no string table" : "no symbol table");
    }
    for (const int64_t tag : {int64_t{DT_RELAENT}, int64_t{DT_RELACOUNT}}) {
        if (d.has(tag) && !d.has(DT_RELA)) return bad_elf("relocations: no address");
    }
    if (d.has(DT_SYMENT) && d[DT_SYMENT] != sizeof(Elf64_Sym)) {
        return bad_elf(text("symbols of %llu bytes, needs %zu", static_cast<ull>(d[DT_SYMENT]),
                            sizeof(Elf64_Sym)));
    }
    if ((d.has(DT_JMPREL) || d.has(DT_PLTREL)) && d[DT_PLTREL] != DT_RELA) {
        return bad_elf(text("relocations of functions have type %llu, needs %d",
                            static_cast<ull>(d[DT_PLTREL]), DT_RELA));
    }
    return {};
}

// Names by offset: inside the string table, which ends with a NUL.
Check check_names(const ElfFile& file, const ElfDynamic& d) {
    const uint64_t strings = d[DT_STRSZ];
    char last = 1;
    if (strings == 0 || strings > kMaxStringBytes ||
        !file.read_at(d[DT_STRTAB] + strings - 1, &last) || last != 0) {
        return bad_elf(
            text("string table of %llu bytes does not end with a NUL", static_cast<ull>(strings)));
    }
    std::vector<uint64_t> names = d.needed;
    for (const int64_t tag : {DT_SONAME, DT_RPATH, DT_RUNPATH, static_cast<int>(DT_AUXILIARY),
                              static_cast<int>(DT_FILTER)}) {
        if (d.has(tag)) names.push_back(d[tag]);
    }
    for (const uint64_t name : names) {
        if (name < strings) continue;
        return bad_elf(text("name at %llu of a string table of %llu bytes", static_cast<ull>(name),
                            static_cast<ull>(strings)));
    }
    return {};
}

// ---- versions ----------------------------------------------------------------------------------

Refusal bad_versions(const char* what) { return bad_elf(text("versions of symbols: %s", what)); }

bool is_name(const ElfDynamic& d, uint64_t offset) { return offset < d[DT_STRSZ]; }

Check check_needed_versions(const ElfFile& file, const ElfDynamic& d, uint32_t* newest) {
    const std::vector<std::string> libraries = needed_names(file, d);
    uint64_t at = d[DT_VERNEED];
    for (uint32_t n = 0; d.has(DT_VERNEED); ++n) {
        Elf64_Verneed need;
        std::string library;
        if (n == kMaxVersions || !file.read_at(at, &need)) return bad_versions("outside the file");
        if (need.vn_version != VER_NEED_CURRENT) return bad_versions("unknown kind");
        if (!is_name(d, need.vn_file) || !file.text_at(d[DT_STRTAB] + need.vn_file, &library) ||
            std::find(libraries.begin(), libraries.end(), library) == libraries.end()) {
            return bad_versions("of a library that is not needed");
        }
        uint64_t aux_at = at + need.vn_aux;
        for (uint32_t k = 0;; ++k) {
            Elf64_Vernaux aux;
            if (k == kMaxVersions || !file.read_at(aux_at, &aux) || !is_name(d, aux.vna_name)) {
                return bad_versions("outside the file");
            }
            *newest = std::max<uint32_t>(*newest, aux.vna_other & 0x7fffu);
            if (aux.vna_next == 0) break;
            aux_at += aux.vna_next;
        }
        if (need.vn_next == 0) break;
        at += need.vn_next;
    }
    return {};
}

Check check_defined_versions(const ElfFile& file, const ElfDynamic& d, uint32_t* newest) {
    uint64_t at = d[DT_VERDEF];
    for (uint32_t n = 0; d.has(DT_VERDEF); ++n) {
        Elf64_Verdef def;
        Elf64_Verdaux aux;
        if (n == kMaxVersions || !file.read_at(at, &def) || !file.read_at(at + def.vd_aux, &aux) ||
            !is_name(d, aux.vda_name)) {
            return bad_versions("outside the file");
        }
        if (def.vd_version != VER_DEF_CURRENT) return bad_versions("unknown kind");
        *newest = std::max<uint32_t>(*newest, def.vd_ndx & 0x7fffu);
        if (def.vd_next == 0) break;
        at += def.vd_next;
    }
    return {};
}

Check check_versions(const ElfFile& file, const ElfDynamic& d, uint32_t* newest) {
    *newest = 0;
    if (Check no = check_needed_versions(file, d, newest)) return no;
    if (Check no = check_defined_versions(file, d, newest)) return no;
    if (d.has(DT_VERSYM) != (*newest > 0)) return bad_versions("half of the tables is missing");
    return {};
}

// ---- hash tables -------------------------------------------------------------------------------

Refusal bad_hash(const char* what) { return bad_elf(text("hash table: %s", what)); }

// Every symbol that is in the table is looked at, each once: chains of a whole table are disjoint.
Check check_gnu_hash(const ElfFile& file, const ElfDynamic& d, uint32_t newest) {
    struct {
        uint32_t n_buckets, first_symbol, n_words, shift;
    } head;
    const uint64_t at = d[DT_GNU_HASH];
    if (!file.read_at(at, &head)) return bad_hash("outside the file");
    const uint64_t buckets = at + sizeof head + uint64_t{head.n_words} * 8;
    const uint64_t chains = buckets + uint64_t{head.n_buckets} * 4;
    const Elf64_Phdr* load = file.load_at(at, chains - at, PF_R);
    if (!std::has_single_bit(head.n_words) || head.shift > 63 || !load) {
        return bad_hash("outside the file, or its filter is no power of two");
    }
    uint64_t left = load->p_filesz / sizeof(uint32_t);
    for (uint32_t i = 0; i < head.n_buckets; ++i) {
        uint32_t symbol, hash = 0;
        if (!file.read_at(buckets + uint64_t{i} * 4, &symbol)) return bad_hash("outside the file");
        if (symbol == 0) continue;
        if (symbol < head.first_symbol) return bad_hash("a bucket before the first symbol");
        for (; !(hash & 1u); ++symbol) {
            const uint64_t link = chains + uint64_t{symbol - head.first_symbol} * 4;
            if (left-- == 0 || !file.read_at(link, &hash)) return bad_hash("a chain has no end");
            if (Check no = check_symbol(file, d, symbol, newest)) return no;
        }
    }
    return {};
}

Check check_sysv_hash(const ElfFile& file, const ElfDynamic& d, uint32_t newest) {
    struct {
        uint32_t n_buckets, n_symbols;
    } head;
    const uint64_t at = d[DT_HASH];
    if (!file.read_at(at, &head)) return bad_hash("outside the file");
    const uint64_t bytes = sizeof head + (uint64_t{head.n_buckets} + head.n_symbols) * 4;
    if (!file.load_at(at, bytes, PF_R)) return bad_hash("outside the file");
    const uint64_t chains = at + sizeof head + uint64_t{head.n_buckets} * 4;
    uint64_t left = head.n_symbols;
    for (uint32_t i = 0; i < head.n_buckets; ++i) {
        uint32_t symbol;
        if (!file.read_at(at + sizeof head + uint64_t{i} * 4, &symbol))
            return bad_hash("cut short");
        while (symbol != 0) {
            if (symbol >= head.n_symbols || left-- == 0) return bad_hash("a chain has no end");
            if (Check no = check_symbol(file, d, symbol, newest)) return no;
            if (!file.read_at(chains + uint64_t{symbol} * 4, &symbol)) return bad_hash("cut short");
        }
    }
    return {};
}

// Whether a symbol that the file defines is where its type says.
bool is_in_place(const ElfFile& file, const Elf64_Sym& s) {
    const auto type = ELF64_ST_TYPE(s.st_info);
    if (s.st_shndx == SHN_UNDEF || s.st_shndx == SHN_ABS || type == STT_TLS) return true;
    if (type == STT_FUNC || type == STT_GNU_IFUNC) return file.load_at(s.st_value, 1, PF_X);
    // Symbols for ends stand behind the last byte.
    return file.load_at(s.st_value, 0) || (s.st_value > 0 && file.load_at(s.st_value - 1, 1));
}

}  // namespace

Check read_dynamic(const ElfFile& file, ElfDynamic* out) {
    const auto& segments = file.segments();
    const auto it = std::find_if(segments.begin(), segments.end(),
                                 [](const Elf64_Phdr& s) { return s.p_type == PT_DYNAMIC; });
    if (it == segments.end()) return bad_elf("no dynamic section");
    for (size_t i = 0; i < kMaxEntries; ++i) {
        Elf64_Dyn entry;
        if ((i + 1) * sizeof entry > it->p_filesz ||
            !file.read_at(it->p_vaddr + i * sizeof entry, &entry)) {
            return bad_elf(
                text("dynamic section of %llu bytes has no end", static_cast<ull>(it->p_filesz)));
        }
        if (entry.d_tag == DT_NULL) return {};
        if (entry.d_tag == DT_NEEDED) out->needed.push_back(entry.d_un.d_val);
        const bool fresh = out->values.insert_or_assign(entry.d_tag, entry.d_un.d_val).second;
        const bool may_repeat =
            entry.d_tag == DT_NEEDED || entry.d_tag == DT_AUXILIARY || entry.d_tag == DT_FILTER;
        if (!fresh && !may_repeat) {
            return bad_elf(text("two entries of tag 0x%llx in the dynamic section",
                                static_cast<ull>(entry.d_tag)));
        }
    }
    return bad_elf(text("dynamic section of more than %zu entries", kMaxEntries));
}

Check check_symbol(const ElfFile& file, const ElfDynamic& d, uint64_t index, uint32_t newest) {
    Elf64_Sym symbol;
    if (!file.read_at(d[DT_SYMTAB] + index * sizeof symbol, &symbol)) {
        return bad_elf(text("symbol %llu is outside the file", static_cast<ull>(index)));
    }
    if (!is_name(d, symbol.st_name)) {
        return bad_elf(text("symbol %llu: name at %u of a string table of %llu bytes",
                            static_cast<ull>(index), symbol.st_name,
                            static_cast<ull>(d[DT_STRSZ])));
    }
    if (!is_in_place(file, symbol)) {
        return bad_elf(text("symbol %llu: address 0x%llx is in no segment that fits",
                            static_cast<ull>(index), static_cast<ull>(symbol.st_value)));
    }
    if (!d.has(DT_VERSYM)) return {};
    uint16_t version;
    if (!file.read_at(d[DT_VERSYM] + index * sizeof version, &version) ||
        (version & 0x7fffu) > newest) {
        return bad_elf(text("symbol %llu: its version is not defined", static_cast<ull>(index)));
    }
    return {};
}

Check check_dynamic(const ElfFile& file, const ElfDynamic& d) {
    if (Check no = check_addresses(file, d)) return no;
    for (const Table& table : kTables) {
        if (Check no = check_table(file, d, table)) return no;
    }
    if (Check no = check_names(file, d)) return no;
    uint32_t newest = 0;
    if (Check no = check_versions(file, d, &newest)) return no;
    if (d.has(DT_GNU_HASH)) {
        if (Check no = check_gnu_hash(file, d, newest)) return no;
    } else if (d.has(DT_HASH)) {
        if (Check no = check_sysv_hash(file, d, newest)) return no;
    }
    return check_relocations(file, d, newest);
}

std::vector<std::string> needed_names(const ElfFile& file, const ElfDynamic& d) {
    std::vector<std::string> names;
    std::string name;
    for (const uint64_t offset : d.needed) {
        if (is_name(d, offset) && file.text_at(d[DT_STRTAB] + offset, &name)) names.push_back(name);
    }
    return names;
}

}  // namespace tenon
