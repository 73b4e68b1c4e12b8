// The steps of loading that look at one candidate: what stands in the file, then what its code
// says.

#include "loader/pipeline.h"

#include <atomic>
#include <cstring>
#include <map>
#include <mutex>

#include "core/base/log.h"
#include "core/base/os.h"
#include "core/base/settings.h"
#include "core/base/text.h"
#include "core/device/plugin_call.h"
#include "core/device/plugin_checks.h"
#include "loader/compatibility.h"
#include "loader/note.h"

namespace tenon {
namespace {

// What a plugin said about a failure, for people; never empty.
std::string error_text(const tenon_error& error, tenon_status code) {
    std::string said = Readable<sizeof error.message>(error.message).text;
    if (said.empty()) said = status_text(code);
    const Readable<sizeof error.native_name> name(error.native_name);
    if (name.text[0]) {
        said += text(" (%s, %lld)", name.text, static_cast<long long>(error.native_code));
    }
    return said;
}

// Step 3. A plugin is dropped by `disable`, readmitted by `select`; `select` alone lets only its
// matches load.
Check check_filters(const Candidate& candidate) {
    const auto matches = [&](const char* globs) { return matches_candidate(globs, candidate); };
    const char* disable = setting("disable");
    const char* select = setting("select");
    const bool selected = select && *select && matches(select);
    if (disable && *disable) {
        if (matches(disable) && !selected) {
            return Refusal{"disabled", text("matches '%s' of TENON_PLUGINS_DISABLE", disable)};
        }
    } else if (select && *select && !selected) {
        return Refusal{"not-selected", text("does not match '%s' of TENON_PLUGINS_SELECT", select)};
    }
    return {};
}

std::string note_text(const Candidate& candidate) {
    const tenon_note_desc& note = candidate.report.note;
    return text("family %s, variant %s, id %s, version %s, %llu us", note.family, note.variant,
                note.id, note.version,
                static_cast<unsigned long long>(candidate.report.note_ns / 1000));
}

// Files whose code stays in this process, and what they were then: the dynamic linker answers a
// second request for the same name with the code it has.
class PinnedFiles {
public:
    // False when another file of this name is in the process.
    bool may_open(const std::string& path, const FileIdentity& identity) {
        const std::lock_guard lock(mutex_);
        const auto it = files_.find(path);
        return it == files_.end() || it->second == identity;
    }
    void add(const std::string& path, const FileIdentity& identity) {
        const std::lock_guard lock(mutex_);
        files_[path] = identity;
    }

private:
    std::mutex mutex_;
    std::map<std::string, FileIdentity> files_;
};
PinnedFiles& pinned_files() {
    static auto* files = new PinnedFiles;
    return *files;
}

Refusal dlopen_failed(const Candidate& candidate, const std::string& linker_text) {
    std::string why = linker_text;
    for (const std::string& needed : needed_libraries(candidate.path)) {
        if (linker_text.find(needed + ": cannot open shared object file") == std::string::npos)
            continue;
        why += text(" (first missing library it needs: %s)", needed.c_str());
        break;
    }
    return {"dlopen-failed", why};
}

// Step 9. False with a state, or with `*changed` when the file is not the one that was checked.
bool open_library(Candidate* candidate, bool* changed) {
    if (!pinned_files().may_open(candidate->path, candidate->identity)) {
        candidate->refuse(kStepOpen, {"changed-on-disk",
                                      "an earlier file of this name is loaded in this process"});
        return false;
    }
    auto library = Library::open(candidate->path);
    if (!library) {
        candidate->refuse(kStepOpen, dlopen_failed(*candidate, library.error().text));
        return false;
    }
    FileIdentity now;
    const std::string loaded = library->loaded_path();
    *changed = !identify(loaded, &now) || !(now == candidate->identity);
    if (*changed) return false;
    candidate->library = std::move(*library);
    if (!(candidate->report.note.flags & TENON_NOTE_UNLOADABLE)) {
        candidate->library.pin(candidate->path);
        pinned_files().add(candidate->path, candidate->identity);
    }
    candidate->pass(kStepOpen);
    return true;
}

// Step 9 with one repetition of the earlier steps: an upgrade of the package looks like a change.
bool open_checked(Candidate* candidate, const TrustContext& trust) {
    for (;;) {
        bool changed = false;
        if (open_library(candidate, &changed)) return true;
        if (!changed) return false;
        if (candidate->repeated) {
            candidate->refuse(kStepOpen, {"changed-on-disk",
                                          "the file changed twice while it was "
                                          "being loaded"});
            return false;
        }
        candidate->repeated = true;
        const tenon_note_desc before = candidate->report.note;
        candidate->start_again();
        run_file_steps(candidate, trust);
        if (candidate->refused()) return false;
        if (std::strcmp(before.id, candidate->report.note.id) != 0 ||
            std::strcmp(before.family, candidate->report.note.family) != 0) {
            candidate->refuse(kStepOpen, {"changed-on-disk", text("was %s, is now %s", before.id,
                                                                  candidate->report.note.id)});
            return false;
        }
        candidate->pass(kStepDuplicates);
        candidate->pass(kStepChoice, "looked at again: the file changed on disk");
        candidate->skip(kStepProbe, "skipped: this version does not probe");
    }
}

// Step 10.
bool call_entry(Candidate* candidate) {
    void* symbol = candidate->library.symbol(TENON_PLUGIN_ENTRY_NAME);
    if (!symbol) {
        candidate->refuse(kStepEntry, {"no-entry", "no symbol " TENON_PLUGIN_ENTRY_NAME});
        return false;
    }
    PluginError error;
    const auto entry = reinterpret_cast<tenon_plugin_entry_fn>(symbol);
    const tenon_status status =
        call_plugin(error, entry, host_table(candidate->family()), &candidate->table);
    if (status != TENON_OK) {
        candidate->refuse(kStepEntry, {"entry-failed", error_text(error, status)});
        return false;
    }
    candidate->pass(kStepEntry);
    return true;
}

// Step 12: a veto, not a vote.
bool ask_score(Candidate* candidate) {
    PluginError error;
    const int32_t score =
        call_plugin_or(error, 0, candidate->table->score, host_table(candidate->family()));
    if (score == 0) {
        candidate->refuse(kStepScore, {"score-zero", error_text(error, TENON_E_UNSUPPORTED)});
        return false;
    }
    candidate->pass(kStepScore, text("%d", score));
    return true;
}

// Step 13.
bool call_init(Candidate* candidate) {
    static std::atomic<uint32_t> next_serial{1};
    candidate->serial = next_serial.fetch_add(1);
    tenon_plugin_config config{};
    config.struct_size = sizeof config;
    config.serial = candidate->serial;
    config.path = candidate->path.c_str();
    PluginError error;
    const tenon_status status =
        call_plugin(error, candidate->table->init, host_table(candidate->family()),
                    static_cast<const tenon_plugin_config*>(&config), &candidate->ctx);
    if (status == TENON_OK) {
        candidate->pass(kStepInit);
        return true;
    }
    const char* word = status == TENON_E_NO_DRIVER   ? "no-driver"
                       : status == TENON_E_NOT_FOUND ? "no-device"
                                                     : "init-failed";
    candidate->refuse(kStepInit, {word, error_text(error, status)});
    return false;
}

std::string devices_text(const std::vector<DeviceOutcome>& devices) {
    size_t usable = 0;
    for (const DeviceOutcome& d : devices) usable += d.refused.empty();
    std::string said = text("%zu device%s", usable, usable == 1 ? "" : "s");
    if (usable < devices.size()) said += text(", %zu refused", devices.size() - usable);
    return said;
}

// Shuts the plugin down unless its devices are made, also when its thread ends on the way.
struct ShutDown {
    const Candidate& candidate;
    bool made = false;
    ~ShutDown() noexcept(false) {
        if (!made) shut_down(candidate);
    }
};

// Step 14.
bool make_devices_of(Candidate* candidate) {
    ShutDown otherwise{*candidate};
    LoadedPlugin plugin;
    plugin.table = candidate->table;
    plugin.ctx = candidate->ctx;
    plugin.serial = candidate->serial;
    plugin.path = candidate->path;
    plugin.note_flags = candidate->report.note.flags;
    auto made = make_devices(plugin);
    if (!made) {
        const bool taken = made.error().code == TENON_E_BUSY;
        candidate->refuse(kStepDevices, {taken ? "name-taken" : "bad-table", made.error().text});
        return false;
    }
    otherwise.made = true;
    candidate->made = std::move(made->reg);
    candidate->report.devices = std::move(made->devices);
    for (const DeviceOutcome& device : candidate->report.devices) {
        if (device.refused.empty()) continue;
        log_once(GGML_LOG_LEVEL_WARN, "plugin %s: bad-device: device %u '%s': %s",
                 candidate->name().c_str(), device.index, device.name.c_str(),
                 device.refused.c_str());
    }
    candidate->pass(kStepDevices, devices_text(candidate->report.devices));
    return true;
}

}  // namespace

void shut_down(const Candidate& candidate) {
    tell_plugin(candidate.name().c_str(), "shutdown", candidate.table->shutdown, candidate.ctx);
}

bool matches_candidate(const std::string& globs, const Candidate& candidate) {
    return matches_any(globs, candidate.report.note.id) || matches_any(globs, candidate.family()) ||
           matches_any(globs, candidate.name());
}

void run_note_steps(Candidate* candidate) {
    if (Check no = check_filters(*candidate)) return candidate->refuse(kStepFilters, *no);
    candidate->pass(kStepFilters);
    std::string detail;
    if (Check no = check_abi(candidate->report.note, &detail))
        return candidate->refuse(kStepAbi, *no);
    candidate->pass(kStepAbi, detail);
    if (Check no = check_cpu(candidate->report.note, &detail))
        return candidate->refuse(kStepCpu, *no);
    candidate->pass(kStepCpu, detail);
}

void run_file_steps(Candidate* candidate, const TrustContext& trust) {
    TrustedFile file;
    Check no = check_file(candidate->report.file, candidate->place, trust, &file);
    candidate->path = file.path;
    candidate->identity = file.identity;
    if (no) return candidate->refuse(kStepFile, *no);
    if (!file.warning.empty()) {
        log_once(GGML_LOG_LEVEL_WARN, "plugin %s: %s; let pass by TENON_ALLOW_UNSAFE_PLUGINS",
                 candidate->report.file.c_str(), file.warning.c_str());
    }
    candidate->pass(kStepFile, file.detail);

    const uint64_t begin = os::now_ns();
    no = read_note(candidate->path, &candidate->report.note);
    candidate->report.note_ns = os::now_ns() - begin;
    if (no) {
        candidate->report.note = {};
        return candidate->refuse(kStepNote, *no);
    }
    candidate->report.has_note = true;
    candidate->pass(kStepNote, note_text(*candidate));
    run_note_steps(candidate);
}

bool run_table_steps(Candidate* candidate) {
    if (Check no = check_table(candidate->table, candidate->report.note)) {
        candidate->refuse(kStepTable, *no);
        return false;
    }
    candidate->pass(kStepTable);
    return ask_score(candidate) && call_init(candidate) && make_devices_of(candidate);
}

bool run_code_steps(Candidate* candidate, const TrustContext& trust) {
    // Step 8: a plugin whose note says TOUCHES_DRIVER is to be tried in a process of its own first,
    // and one that crashed there is to be left alone.
    candidate->skip(kStepProbe, "skipped: this version does not probe");
    const uint64_t begin = os::now_ns();
    const bool up =
        open_checked(candidate, trust) && call_entry(candidate) && run_table_steps(candidate);
    candidate->report.load_ns = os::now_ns() - begin;
    if (!up) candidate->library.close();
    return up;
}

}  // namespace tenon
