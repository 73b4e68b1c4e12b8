// tenon/note.hpp - the note of a plugin, its words by name instead of by position. Header-only,
// C++17; evaluated by the compiler alone.
//
//     constexpr tenon_note_desc kNote = tenon::Note()
//                                           .family("acme")
//                                           .variant("a1")
//                                           .id("com.acme.a1")
//                                           .version("1.0.0")
//                                           .flags(TENON_NOTE_COEXISTS);
#pragma once

#include "tenon/plugin.h"

namespace tenon {

namespace detail {
// Not constexpr: a note for which it is called does not compile.
inline void a_note_needs_family_variant_id_and_version() {}
}  // namespace detail

// Everything tenon_note_desc says; plugin-abi.md section 4 has the rules. A text that is too long
// does not compile.
class Note {
public:
    // Variants of one family exclude each other, unless the flags say TENON_NOTE_COEXISTS.
    template <size_t kSize>
    constexpr Note& family(const char (&text)[kSize]) {
        return set(desc_.family, text);
    }
    template <size_t kSize>
    constexpr Note& variant(const char (&text)[kSize]) {
        return set(desc_.variant, text);
    }
    // Reverse DNS: "com.acme.a1".
    template <size_t kSize>
    constexpr Note& id(const char (&text)[kSize]) {
        return set(desc_.id, text);
    }
    template <size_t kSize>
    constexpr Note& version(const char (&text)[kSize]) {
        return set(desc_.version, text);
    }
    // TENON_NOTE_*; none.
    constexpr Note& flags(uint32_t flags) {
        desc_.flags = flags;
        return *this;
    }
    // Among usable variants of the family, larger is tried first; 10.
    constexpr Note& rank(uint32_t rank) {
        desc_.rank = rank;
        return *this;
    }
    // TENON_ARCH_* and, of that architecture, the features that code needs which asks for none
    // itself (TENON_X86_*, TENON_ARM_*); any processor will do.
    constexpr Note& runs_on(uint32_t arch, uint32_t features = 0) {
        desc_.arch = arch;
        desc_.isa_need[0] = features;
        return *this;
    }
    // The oldest minor of the ABI that a host may have; 0.
    constexpr Note& needs_abi_minor(uint16_t minor) {
        desc_.abi_minor_needed = minor;
        return *this;
    }

    constexpr operator tenon_note_desc() const {
        if (!desc_.family[0] || !desc_.variant[0] || !desc_.id[0] || !desc_.version[0])
            detail::a_note_needs_family_variant_id_and_version();
        return desc_;
    }

private:
    template <size_t kRoom, size_t kSize>
    constexpr Note& set(char (&field)[kRoom], const char (&text)[kSize]) {
        static_assert(kSize <= kRoom, "this text is longer than the note has room for");
        for (size_t i = 0; i < kRoom; ++i) field[i] = i < kSize ? text[i] : '\0';
        return *this;
    }

    tenon_note_desc desc_ = {sizeof(tenon_note_desc),
                             TENON_ABI_MAJOR,
                             TENON_ABI_MINOR,
                             0,
                             TENON_TENSOR_LAYOUT_1,
                             0,
                             TENON_ARCH_ANY,
                             10,
                             {0, 0, 0, 0},
                             "",
                             "",
                             "",
                             ""};
};

}  // namespace tenon
