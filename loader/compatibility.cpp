// What two sides of the ABI must agree on: versions, features of the processor, tables.

#include "loader/compatibility.h"

#include <cstring>

#include "core/base/cpu_features.h"
#include "core/base/text.h"
#include "core/device/plugin_checks.h"

namespace tenon {
namespace {

std::string host_text() {
    return text("this is libtenon %s with ABI %d.%d", tenon_version(), TENON_ABI_MAJOR,
                TENON_ABI_MINOR);
}

Refusal bad_table(std::string why) { return {"bad-table", std::move(why)}; }

Check check_table_text(const char* name, const char* value) {
    if (!value) return bad_table(text("%s is NULL", name));
    if (auto ok = check_text(name, value, kMaxNameBytes); !ok) return bad_table(ok.error().text);
    return {};
}

Check check_pointers(const tenon_plugin& table) {
    struct Entry {
        const char* name;
        bool present;
    };
    const Entry entries[] = {
        {"score", table.score != nullptr},
        {"init", table.init != nullptr},
        {"shutdown", table.shutdown != nullptr},
        {"device_count", table.device_count != nullptr},
        {"device_info", table.device_info != nullptr},
        {"device_open", table.device_open != nullptr},
        {"extension", table.extension != nullptr},
    };
    for (const Entry& entry : entries) {
        if (!entry.present) return bad_table(text("%s is NULL", entry.name));
    }
    return {};
}

Check check_equal(const char* what, const char* in_table, const char* in_note) {
    if (std::strcmp(in_table, in_note) == 0) return {};
    return Refusal{"note-mismatch",
                   text("%s is '%s' in the table, '%s' in the note", what, in_table, in_note)};
}

// Text of at most n-1 bytes into a field of a note.
template <size_t n>
void copy_text(char (&field)[n], const char* value) {
    if (value) std::memcpy(field, value, strnlen(value, n - 1));
}

}  // namespace

Check check_abi(const tenon_note_desc& note, std::string* detail) {
    if (note.abi_major != TENON_ABI_MAJOR) {
        return Refusal{"abi-major", text("built for plugin ABI %u.%u, %s", note.abi_major,
                                         note.abi_minor_built, host_text().c_str())};
    }
    if (note.abi_minor_needed > TENON_ABI_MINOR) {
        return Refusal{"abi-minor", text("needs plugin ABI %u.%u, %s", note.abi_major,
                                         note.abi_minor_needed, host_text().c_str())};
    }
    if (note.tensor_layout != TENON_TENSOR_LAYOUT_1) {
        return Refusal{"tensor-layout", text("built for tensor layout %u, this library has %d",
                                             note.tensor_layout, TENON_TENSOR_LAYOUT_1)};
    }
    *detail = text("built %u.%u, needs %u.%u, host %d.%d, tensor layout %u", note.abi_major,
                   note.abi_minor_built, note.abi_major, note.abi_minor_needed, TENON_ABI_MAJOR,
                   TENON_ABI_MINOR, note.tensor_layout);
    return {};
}

std::string isa_names(const uint32_t need[4]) {
    std::string names;
    const auto add = [&](const std::string& name) { names += (names.empty() ? "" : " ") + name; };
    for (uint32_t bit = 0; bit < 128; ++bit) {
        if (!(need[bit / 32] >> (bit % 32) & 1u)) continue;
        const char* name = bit < 64 ? isa_bit_name(uint64_t{1} << bit) : "unknown";
        add(std::strcmp(name, "unknown") == 0 ? text("feature-%u", bit) : name);
    }
    return names;
}

Check check_cpu(const tenon_note_desc& note, std::string* detail) {
    const uint64_t have = cpu_features().isa;
    const uint32_t missing[4] = {
        note.isa_need[0] & ~static_cast<uint32_t>(have),
        note.isa_need[1] & ~static_cast<uint32_t>(have >> 32),
        note.isa_need[2],
        note.isa_need[3],
    };
    if (missing[0] | missing[1] | missing[2] | missing[3]) {
        return Refusal{"cpu-features", text("this processor and system do not offer %s",
                                            isa_names(missing).c_str())};
    }
    *detail = isa_names(note.isa_need);
    if (detail->empty()) *detail = "needs none";
    return {};
}

Check check_table_head(const tenon_plugin* table) {
    if (!table) return bad_table("entry returned no table");
    if (!is_table_address(table)) {
        return bad_table(
            text("entry returned a table at address %p", static_cast<const void*>(table)));
    }
    if (table->struct_size < sizeof *table) {
        return bad_table(
            text("table has %u bytes, minor 0 has %zu", table->struct_size, sizeof *table));
    }
    const struct {
        const char* name;
        const char* value;
    } texts[] = {{"id", table->id},
                 {"family", table->family},
                 {"variant", table->variant},
                 {"version", table->version},
                 {"display_name", table->display_name}};
    for (const auto& t : texts) {
        if (Check no = check_table_text(t.name, t.value)) return no;
    }
    if (!table->display_name[0]) return bad_table("display_name is empty");
    return {};
}

Check check_table(const tenon_plugin* table, const tenon_note_desc& note) {
    if (Check no = check_table_head(table)) return no;
    if (table->abi_major != note.abi_major || table->abi_minor != note.abi_minor_built) {
        return Refusal{"note-mismatch",
                       text("ABI is %u.%u in the table, %u.%u in the note", table->abi_major,
                            table->abi_minor, note.abi_major, note.abi_minor_built)};
    }
    if (Check no = check_pointers(*table)) return no;
    if (Check no = check_equal("id", table->id, note.id)) return no;
    if (Check no = check_equal("family", table->family, note.family)) return no;
    if (Check no = check_equal("variant", table->variant, note.variant)) return no;
    return check_equal("version", table->version, note.version);
}

tenon_note_desc note_of_table(const tenon_plugin& table) {
    tenon_note_desc note{};
    note.desc_size = sizeof note;
    note.abi_major = table.abi_major;
    note.abi_minor_built = table.abi_minor;
    note.tensor_layout = TENON_TENSOR_LAYOUT_1;  // it was compiled with the headers of this library
    copy_text(note.family, table.family);
    copy_text(note.variant, table.variant);
    copy_text(note.id, table.id);
    copy_text(note.version, table.version);
    return note;
}

}  // namespace tenon
