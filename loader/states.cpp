// Every word a plugin's state may be, and the function of tenon.h that tells them.

#include "loader/states.h"

#include <algorithm>
#include <iterator>

#include "loader/c_api.h"

namespace tenon {
namespace {

// By step. plugin-abi.md section 5 has the same rows, which a test compares.
constexpr StateRow kStates[] = {
    {"unsafe-owner", 1, GGML_LOG_LEVEL_WARN, TENON_E_PERMISSION, TENON_STATE_FAULT,
     "give the file to root, or set TENON_ALLOW_UNSAFE_PLUGINS=1"},
    {"unsafe-mode", 1, GGML_LOG_LEVEL_WARN, TENON_E_PERMISSION, TENON_STATE_FAULT,
     "take the write permission away, or set TENON_ALLOW_UNSAFE_PLUGINS=1"},
    {"unsafe-dir", 1, GGML_LOG_LEVEL_WARN, TENON_E_PERMISSION, TENON_STATE_FAULT,
     "do to the directory what the text says, or set TENON_ALLOW_UNSAFE_PLUGINS=1"},
    {"not-regular", 1, GGML_LOG_LEVEL_WARN, TENON_E_INVALID, TENON_STATE_FAULT,
     "remove it, or put the plugin itself in its place"},
    {"unreadable", 1, GGML_LOG_LEVEL_WARN, TENON_E_IO, TENON_STATE_FAULT,
     "make the file readable: chmod a+r FILE"},
    {"not-elf", 2, GGML_LOG_LEVEL_DEBUG, TENON_E_INVALID, TENON_STATE_NO_PLUGIN,
     "nothing, if it is not meant to be a plugin; else install the package again"},
    {"not-shared", 2, GGML_LOG_LEVEL_WARN, TENON_E_INVALID, TENON_STATE_FAULT,
     "build it as a shared object"},
    {"wrong-class", 2, GGML_LOG_LEVEL_WARN, TENON_E_INVALID, TENON_STATE_FAULT,
     "install the package for this architecture"},
    {"wrong-machine", 2, GGML_LOG_LEVEL_WARN, TENON_E_INVALID, TENON_STATE_FAULT,
     "install the package for this architecture"},
    {"truncated", 2, GGML_LOG_LEVEL_WARN, TENON_E_INVALID, TENON_STATE_FAULT,
     "install the package again: the file is incomplete"},
    {"no-note", 2, GGML_LOG_LEVEL_DEBUG, TENON_E_INVALID, TENON_STATE_NO_PLUGIN,
     "nothing, if it is not meant to be a plugin; else build it with TENON_PLUGIN_NOTE"},
    {"bad-note", 2, GGML_LOG_LEVEL_WARN, TENON_E_INVALID, TENON_STATE_FAULT,
     "rebuild the plugin with the headers of this version"},
    {"bad-elf", 2, GGML_LOG_LEVEL_WARN, TENON_E_INVALID, TENON_STATE_FAULT,
     "install the package again: the file is damaged"},
    {"disabled", 3, GGML_LOG_LEVEL_DEBUG, TENON_E_UNSUPPORTED, TENON_STATE_CHOICE,
     "remove it from TENON_PLUGINS_DISABLE or from `disable` in tenon.conf"},
    {"not-selected", 3, GGML_LOG_LEVEL_DEBUG, TENON_E_UNSUPPORTED, TENON_STATE_CHOICE,
     "add it to TENON_PLUGINS_SELECT or to `select` in tenon.conf"},
    {"abi-major", 4, GGML_LOG_LEVEL_WARN, TENON_E_VERSION, TENON_STATE_FAULT,
     "install a plugin built for this version of the library"},
    {"abi-minor", 4, GGML_LOG_LEVEL_WARN, TENON_E_VERSION, TENON_STATE_FAULT,
     "install a newer version of the library, or an older one of the plugin"},
    {"tensor-layout", 4, GGML_LOG_LEVEL_WARN, TENON_E_VERSION, TENON_STATE_FAULT,
     "install a plugin built for this version of the library"},
    {"cpu-features", 5, GGML_LOG_LEVEL_DEBUG, TENON_E_UNSUPPORTED, TENON_STATE_ABSENT,
     "nothing: this processor or system cannot run it; another variant may"},
    {"shadowed", 6, GGML_LOG_LEVEL_DEBUG, TENON_E_BUSY, TENON_STATE_CHOICE,
     "nothing: the same plugin was found earlier in the search"},
    {"candidate", 7, GGML_LOG_LEVEL_DEBUG, TENON_OK, TENON_STATE_FINE,
     "nothing: it was looked at only"},
    {"variant-not-chosen", 7, GGML_LOG_LEVEL_DEBUG, TENON_E_BUSY, TENON_STATE_CHOICE,
     "TENON_<FAMILY>_VARIANT=<variant> asks for another one"},
    {"loading", 8, GGML_LOG_LEVEL_DEBUG, TENON_E_BUSY, TENON_STATE_FINE,
     "if it does not finish, TENON_PLUGINS_DISABLE=<family> leaves it out"},
    {"dlopen-failed", 9, GGML_LOG_LEVEL_WARN, TENON_E_IO, TENON_STATE_FAULT,
     "install the library that the text names"},
    {"changed-on-disk", 9, GGML_LOG_LEVEL_WARN, TENON_E_IO, TENON_STATE_FAULT,
     "start the program again: the file was replaced meanwhile"},
    {"no-entry", 10, GGML_LOG_LEVEL_WARN, TENON_E_INVALID, TENON_STATE_FAULT,
     "rebuild the plugin: it must export tenon_plugin_entry_v1"},
    {"entry-failed", 10, GGML_LOG_LEVEL_WARN, TENON_E_INVALID, TENON_STATE_FAULT,
     "install versions of library and plugin that fit together"},
    {"bad-table", 11, GGML_LOG_LEVEL_WARN, TENON_E_INVALID, TENON_STATE_FAULT,
     "report it to the maker of the plugin"},
    {"note-mismatch", 11, GGML_LOG_LEVEL_WARN, TENON_E_INVALID, TENON_STATE_FAULT,
     "install the package again: it was put together from two builds"},
    {"score-zero", 12, GGML_LOG_LEVEL_INFO, TENON_E_UNSUPPORTED, TENON_STATE_ABSENT,
     "see the text; another variant may run"},
    {"init-failed", 13, GGML_LOG_LEVEL_WARN, TENON_E_INVALID, TENON_STATE_FAULT,
     "see the text; report it to the maker of the plugin"},
    {"no-driver", 13, GGML_LOG_LEVEL_INFO, TENON_E_NO_DRIVER, TENON_STATE_ABSENT,
     "install the driver or runtime that the text names"},
    {"no-device", 13, GGML_LOG_LEVEL_INFO, TENON_E_NOT_FOUND, TENON_STATE_ABSENT,
     "nothing, if there is no such hardware; else check that the system sees it"},
    {"name-taken", 14, GGML_LOG_LEVEL_WARN, TENON_E_BUSY, TENON_STATE_FAULT,
     "TENON_PLUGINS_DISABLE=<family> leaves one of the two out"},
    {"bad-device", 14, GGML_LOG_LEVEL_WARN, TENON_E_INVALID, TENON_STATE_FAULT,
     "report it to the maker of the plugin"},
    {"loaded", 15, GGML_LOG_LEVEL_INFO, TENON_OK, TENON_STATE_FINE, ""},
    {"loaded-idle", 15, GGML_LOG_LEVEL_INFO, TENON_OK, TENON_STATE_ABSENT,
     "nothing, if there is no such hardware; else check that the system sees it"},
    {"unloaded", 15, GGML_LOG_LEVEL_INFO, TENON_E_NOT_FOUND, TENON_STATE_FINE, ""},
};

}  // namespace

const StateRow* state_row(std::string_view word) {
    const auto* row = std::find_if(std::begin(kStates), std::end(kStates),
                                   [&](const StateRow& r) { return word == r.word; });
    return row == std::end(kStates) ? nullptr : row;
}

}  // namespace tenon

extern "C" bool tenon_plugin_state_get(size_t index, tenon_plugin_state* out) {
    if (index >= std::size(tenon::kStates)) return false;
    const tenon::StateRow& row = tenon::kStates[index];
    return tenon::write_record(out, tenon_plugin_state{.struct_size = 0,
                                                       .step = row.step,
                                                       .kind = row.kind,
                                                       .level = row.level,
                                                       .status = row.status,
                                                       .reserved0 = 0,
                                                       .word = row.word,
                                                       .help = row.help});
}
