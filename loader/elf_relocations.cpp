// Relocations of a shared object, which are written where they say, and the functions that run when
// it is opened and closed.

#include <map>

#include "core/base/text.h"
#include "loader/elf_check.h"

namespace tenon {
namespace {

using ull = unsigned long long;

// The types that need more than a place and a symbol.
struct RelocationTypes {
    uint32_t relative, copy, function_call;  // R_*_RELATIVE, R_*_COPY, R_*_IRELATIVE
    uint32_t tls_first, tls_last, tls_other;
};
#if defined(__x86_64__)
constexpr RelocationTypes kTypes{R_X86_64_RELATIVE, R_X86_64_COPY,    R_X86_64_IRELATIVE,
                                 R_X86_64_DTPMOD64, R_X86_64_TPOFF64, R_X86_64_TLSDESC};
#elif defined(__aarch64__)
constexpr RelocationTypes kTypes{R_AARCH64_RELATIVE,   R_AARCH64_COPY,    R_AARCH64_IRELATIVE,
                                 R_AARCH64_TLS_DTPMOD, R_AARCH64_TLSDESC, R_AARCH64_TLSDESC};
#else
constexpr RelocationTypes kTypes{3, 4, 58, 6, 12, 12};  // RISC-V
#endif

Refusal bad_elf(std::string what) { return {"bad-elf", std::move(what)}; }

// Where the functions run at start and end stand, and what the relocations put there.
class FunctionSlots {
public:
    explicit FunctionSlots(const ElfDynamic& d) : d_(d) {}
    void put(uint64_t address, bool is_function) {
        if (is_slot(address)) slots_[address] = is_function;
    }
    Check check() const {
        for (const auto& [array, bytes] : kArrays) {
            for (uint64_t i = 0; d_.has(array) && i < d_[bytes]; i += sizeof(uint64_t)) {
                const auto it = slots_.find(d_[array] + i);
                if (it != slots_.end() && it->second) continue;
                return bad_elf(text("function %llu run at %s is none",
                                    static_cast<ull>(i / sizeof(uint64_t)),
                                    array == DT_INIT_ARRAY ? "start" : "end"));
            }
        }
        return {};
    }

private:
    static constexpr std::pair<int64_t, int64_t> kArrays[] = {{DT_INIT_ARRAY, DT_INIT_ARRAYSZ},
                                                              {DT_FINI_ARRAY, DT_FINI_ARRAYSZ}};
    bool is_slot(uint64_t address) const {
        for (const auto& [array, bytes] : kArrays) {
            if (d_.has(array) && address - d_[array] < d_[bytes]) return true;
        }
        return false;
    }

    const ElfDynamic& d_;
    std::map<uint64_t, bool> slots_;
};

struct Context {
    const ElfFile& file;
    const ElfDynamic& dynamic;
    uint32_t newest_version;
    uint32_t place_flags;  // of segments that may be written to
    bool has_tls;
    FunctionSlots* slots;
};

bool is_tls(uint32_t type) {
    return (type >= kTypes.tls_first && type <= kTypes.tls_last) || type == kTypes.tls_other;
}

bool is_defined_here(const Context& c, uint64_t symbol) {
    Elf64_Sym s;
    return symbol == 0 || (c.file.read_at(c.dynamic[DT_SYMTAB] + symbol * sizeof s, &s) &&
                           s.st_shndx != SHN_UNDEF);
}

Check check_relocation(const Context& c, const Elf64_Rela& r) {
    const auto type = static_cast<uint32_t>(ELF64_R_TYPE(r.r_info));
    const uint64_t symbol = ELF64_R_SYM(r.r_info);
    if (Check no = check_symbol(c.file, c.dynamic, symbol, c.newest_version)) return no;
    if (type == 0) return {};
    const char* fault = nullptr;
    if (!c.file.load_at(r.r_offset, 4, c.place_flags)) {
        fault = "outside the writable segments";
    } else if (type == kTypes.copy) {
        fault = "copies a symbol, which only a program may";
    } else if (type == kTypes.function_call &&
               !c.file.load_at(static_cast<uint64_t>(r.r_addend), 1, PF_X)) {
        fault = "calls what is no function";
    } else if (is_tls(type) && !c.has_tls && is_defined_here(c, symbol)) {
        fault = "is about data of threads, of which there are none";
    }
    if (fault) {
        return bad_elf(text("relocation of type %u at address 0x%llx %s", type,
                            static_cast<ull>(r.r_offset), fault));
    }
    const bool is_function =
        type != kTypes.relative || c.file.load_at(static_cast<uint64_t>(r.r_addend), 1, PF_X);
    c.slots->put(r.r_offset, is_function);
    return {};
}

Check check_table(const Context& c, uint64_t at, uint64_t bytes, uint64_t n_relative) {
    for (uint64_t i = 0; i < bytes / sizeof(Elf64_Rela); ++i) {
        Elf64_Rela r;
        if (!c.file.read_at(at + i * sizeof r, &r)) return bad_elf("relocations: cut short");
        if (i < n_relative && ELF64_R_TYPE(r.r_info) != kTypes.relative) {
            return bad_elf(text("relocation %llu of %llu relative ones has type %llu",
                                static_cast<ull>(i), static_cast<ull>(n_relative),
                                static_cast<ull>(ELF64_R_TYPE(r.r_info))));
        }
        if (Check no = check_relocation(c, r)) return no;
    }
    return {};
}

Check check_relative_word(const Context& c, uint64_t address) {
    uint64_t value;
    if (!c.file.load_at(address, sizeof value, c.place_flags) || !c.file.read_at(address, &value)) {
        return bad_elf(
            text("relative relocation at address 0x%llx is outside the writable segments",
                 static_cast<ull>(address)));
    }
    c.slots->put(address, c.file.load_at(value, 1, PF_X));
    return {};
}

// An even entry is an address, an odd one says which of the 63 words after it follow.
Check check_relr(const Context& c) {
    constexpr uint64_t kWord = sizeof(uint64_t), kWordsOfEntry = 63;
    uint64_t next = 0;
    for (uint64_t i = 0; i < c.dynamic[DT_RELRSZ]; i += kWord) {
        uint64_t entry;
        if (!c.file.read_at(c.dynamic[DT_RELR] + i, &entry))
            return bad_elf("relocations: cut short");
        if (!(entry & 1u)) {
            if (Check no = check_relative_word(c, entry)) return no;
            next = entry + kWord;
            continue;
        }
        if (i == 0) return bad_elf("relative relocations begin without an address");
        for (uint64_t k = 0; k < kWordsOfEntry; ++k) {
            if (!(entry >> (k + 1) & 1u)) continue;
            if (Check no = check_relative_word(c, next + k * kWord)) return no;
        }
        next += kWordsOfEntry * kWord;
    }
    return {};
}

}  // namespace

Check check_relocations(const ElfFile& file, const ElfDynamic& d, uint32_t newest_version) {
    FunctionSlots slots(d);
    bool has_tls = false;
    for (const Elf64_Phdr& s : file.segments()) has_tls = has_tls || s.p_type == PT_TLS;
    const bool writes_text = d.has(DT_TEXTREL) || (d[DT_FLAGS] & DF_TEXTREL);
    const Context c{file, d, newest_version, writes_text ? 0u : uint32_t{PF_W}, has_tls, &slots};
    const uint64_t n_relative = d[DT_RELACOUNT];
    if (n_relative > d[DT_RELASZ] / sizeof(Elf64_Rela)) {
        return bad_elf(text("%llu relative relocations in %llu bytes", static_cast<ull>(n_relative),
                            static_cast<ull>(d[DT_RELASZ])));
    }
    if (d.has(DT_RELA)) {
        if (Check no = check_table(c, d[DT_RELA], d[DT_RELASZ], n_relative)) return no;
    }
    if (d.has(DT_JMPREL)) {
        if (Check no = check_table(c, d[DT_JMPREL], d[DT_PLTRELSZ], 0)) return no;
    }
    if (d.has(DT_RELR)) {
        if (Check no = check_relr(c)) return no;
    }
    return slots.check();
}

}  // namespace tenon
