// Reads the ELF note of a plugin without running, mapping or trusting a byte of the file.

#include "loader/note.h"

#include <cstring>

#include "core/base/bits.h"
#include "core/base/cpu_features.h"
#include "core/base/text.h"
#include "loader/elf_check.h"

namespace tenon {
namespace {

constexpr size_t kMaxNoteBytes = 4096;  // read of one segment

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

// The first note of ours in the file.
Check find_note(const ElfFile& file, tenon_note_desc* out) {
    for (const Elf64_Phdr& segment : file.segments()) {
        if (segment.p_type != PT_NOTE) continue;
        std::vector<uint8_t> bytes(segment.p_filesz < kMaxNoteBytes ? segment.p_filesz
                                                                    : kMaxNoteBytes);
        if (!file.read(segment.p_offset, bytes.data(), bytes.size())) {
            return truncated(segment.p_offset + bytes.size(), file.size_bytes());
        }
        bool found = false;
        Check bad = walk_notes(bytes, &found, out);
        if (found) return bad;
    }
    return Refusal{"no-note", "a shared object, but no Tenon plugin"};
}

}  // namespace

Check read_note(const std::string& path, tenon_note_desc* out) {
    ElfFile file(path);
    if (Check no = file.read_headers()) return no;
    if (Check no = find_note(file, out)) return no;
    return check_elf(file);
}

std::vector<std::string> needed_libraries(const std::string& path) {
    ElfFile file(path);
    ElfDynamic dynamic;
    if (file.read_headers() || read_dynamic(file, &dynamic)) return {};
    return needed_names(file, dynamic);
}

}  // namespace tenon
