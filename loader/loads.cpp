// Loads: all files of some places, one file, a plugin linked in; and taking one out again.

#include "loader/loads.h"

#include <algorithm>

#include "core/base/log.h"
#include "core/base/settings.h"
#include "core/base/text.h"
#include "core/device/plugin_call.h"
#include "loader/compatibility.h"
#include "loader/pipeline.h"
#include "loader/variant.h"

namespace tenon {
namespace {

std::string key_of(const Candidate& candidate) {
    if (!candidate.report.file.empty()) return candidate.report.file;
    return std::string("builtin:") + candidate.report.note.id;
}

// Whether a file that failed once its code ran would only fail again: it is still the same file.
bool failed_for_good(const Candidate& candidate) {
    FileIdentity now;
    return candidate.refused() && candidate.state() != "unloaded" &&
           candidate.report.step >= kStepOpen && !candidate.path.empty() &&
           identify(candidate.path, &now) && now == candidate.identity;
}

Error error_of(const Candidate& candidate) {
    return fail(status_of(candidate.state()), "%s: %s: %s", candidate.state().c_str(),
                candidate.report.file.c_str(), candidate.report.message.c_str());
}

}  // namespace

void Loader::show(const Candidate& candidate) { reports.put(key_of(candidate), candidate.report); }

Candidate* Loader::candidate_for(const std::string& file, const std::string& origin) {
    auto& slot = candidates_[file];
    if (!slot) {
        slot = std::make_unique<Candidate>();
        slot->report.file = file;
        slot->order = next_order_++;
    }
    if (!slot->loaded()) slot->report.origin = origin;
    return slot.get();
}

Candidates Loader::loaded() const {
    Candidates all;
    for (const auto& [key, candidate] : candidates_) {
        if (candidate->loaded()) all.push_back(candidate.get());
    }
    return all;
}

// The variant that stands for its family; those that coexist stand for nothing but themselves.
Candidate* Loader::loaded_in_family(const std::string& family) const {
    for (Candidate* candidate : loaded()) {
        const bool coexists = candidate->report.note.flags & TENON_NOTE_COEXISTS;
        if (!coexists && candidate->family() == family) return candidate;
    }
    return nullptr;
}

// Steps 1 to 5 of every file, in search order. Files that are loaded, or that failed after their
// code ran and have not changed, stay as they are.
Candidates Loader::gather(const std::vector<SearchPlace>& places) {
    const TrustContext trust = process_trust_context();
    Candidates all;
    for (const SearchPlace& place : places) {
        for (const std::string& file : place.files) {
            Candidate* candidate = candidate_for(file, place.origin);
            if (std::find(all.begin(), all.end(), candidate) != all.end()) continue;
            all.push_back(candidate);
            if (candidate->loaded() || failed_for_good(*candidate)) continue;
            candidate->by_name = place.by_name;
            candidate->place = place.trust;
            candidate->repeated = false;
            candidate->start_again();
            run_file_steps(candidate, trust);
        }
    }
    return all;
}

void Loader::load_places(const std::vector<SearchPlace>& places, bool only_scan) {
    const Candidates all = gather(places);
    refuse_duplicates(all, loaded());
    for (const Candidate* candidate : all) show(*candidate);

    std::map<std::string, Candidates, bool (*)(const std::string&, const std::string&)> families(
        family_before);
    for (Candidate* candidate : all) {
        if (!candidate->report.has_note) continue;
        Candidates& members = families[candidate->family()];
        if (!candidate->loaded() && !candidate->refused()) members.push_back(candidate);
    }
    Candidates started;
    for (const auto& [family, members] : families) {
        if (only_scan)
            choose_without_loading(family, members);
        else
            load_family(family, members, &started);
    }
    register_started(started);
    if (only_scan) return;
    for (const auto& [family, members] : families) tell_if_unusable(family, all);
    tell_unmatched_filters(all);
    registry_check_list();
}

// A family of which nothing is loaded is said to be so, as loudly as its normal reasons allow.
void Loader::tell_if_unusable(const std::string& family, const Candidates& all) {
    ggml_log_level level = GGML_LOG_LEVEL_WARN;
    std::string reasons;
    for (const Candidate* candidate : loaded()) {
        if (candidate->family() == family) return;
    }
    for (const Candidate* candidate : all) {
        if (!candidate->report.has_note || candidate->family() != family) continue;
        const std::string& state = candidate->state();
        if (state == "disabled" || state == "not-selected") level = GGML_LOG_LEVEL_DEBUG;
        if (log_level_of(state) == GGML_LOG_LEVEL_INFO) level = GGML_LOG_LEVEL_INFO;
        reasons += (reasons.empty() ? "" : ", ") + candidate->variant() + " " + state;
    }
    log_once(level, "no usable plugin of family %s: %s", family.c_str(), reasons.c_str());
}

// Items of `disable` and `select` that match none of the files: most likely spelling mistakes. A
// family of ours that is not installed may well be disabled.
void Loader::tell_unmatched_filters(const Candidates& all) {
    std::string valid;
    for (const Candidate* candidate : all) {
        if (!candidate->report.has_note) continue;
        const std::string name = candidate->name() + " (family " + candidate->family() + ")";
        valid += (valid.empty() ? "" : ", ") + name;
    }
    if (valid.empty()) return;  // there is nothing to choose from, and that is told elsewhere
    const auto tell = [&](const char* key, const char* variable, bool may_be_absent) {
        for (const std::string& glob : setting_list(key)) {
            if (may_be_absent && is_family_of_ours(glob)) continue;
            const bool used = std::any_of(all.begin(), all.end(), [&](const Candidate* candidate) {
                return candidate->report.has_note && matches_candidate(glob, *candidate);
            });
            if (used) continue;
            log_once(GGML_LOG_LEVEL_WARN, "%s: no plugin matches '%s'; found: %s", variable,
                     glob.c_str(), valid.c_str());
        }
    };
    tell("disable", "TENON_PLUGINS_DISABLE", /*may_be_absent=*/true);
    tell("select", "TENON_PLUGINS_SELECT", /*may_be_absent=*/false);
}

// Step 7, then the rest for each variant until one is up, and for those that may load beside it.
void Loader::load_family(const std::string& family, Candidates members, Candidates* started) {
    const auto exclusive_end = std::stable_partition(
        members.begin(), members.end(),
        [](Candidate* c) { return !(c->report.note.flags & TENON_NOTE_COEXISTS); });
    Candidates variants(members.begin(), exclusive_end);
    const Candidate* winner = loaded_in_family(family);
    if (!winner && !variants.empty()) order_variants(family, &variants);
    for (Candidate* candidate : variants) {
        if (winner) {
            candidate->refuse(kStepChoice, {"variant-not-chosen", why_first(*winner, *candidate)});
            show(*candidate);
            continue;
        }
        candidate->pass(kStepChoice, variants.size() == 1
                                         ? "only variant"
                                         : text("rank %u", candidate->report.note.rank));
        if (start(candidate, started)) winner = candidate;
    }
    for (auto it = exclusive_end; it != members.end(); ++it) {
        (*it)->pass(kStepChoice, "may load beside others of its family");
        start(*it, started);
    }
}

void Loader::choose_without_loading(const std::string& family, Candidates members) {
    const Candidate* winner = loaded_in_family(family);
    if (!winner && !members.empty()) order_variants(family, &members);
    for (Candidate* candidate : members) {
        const bool coexists = candidate->report.note.flags & TENON_NOTE_COEXISTS;
        if (winner && !coexists) {
            candidate->refuse(kStepChoice, {"variant-not-chosen", why_first(*winner, *candidate)});
        } else {
            candidate->pass(kStepChoice);
            candidate->report.state = "candidate";
            if (!coexists) winner = candidate;
        }
        show(*candidate);
    }
}

bool Loader::start(Candidate* candidate, Candidates* started) {
    candidate->report.state = "loading";
    show(*candidate);
    candidate->report.state.clear();
    const bool up = run_code_steps(candidate, process_trust_context());
    if (up) started->push_back(candidate);
    show(*candidate);
    return up;
}

// Step 15 for all plugins of one load at once, so that their devices are sorted together.
void Loader::register_started(const Candidates& started) {
    std::vector<std::unique_ptr<ggml_backend_reg>> regs;
    for (Candidate* candidate : started) regs.push_back(std::move(candidate->made));
    const auto registered = register_plugins(std::move(regs));
    for (size_t i = 0; i < started.size(); ++i) {
        Candidate* candidate = started[i];
        Report& report = candidate->report;
        report.reg = i < registered.size() ? registered[i] : nullptr;
        if (!report.reg) continue;
        report.handles.assign(report.devices.size(), nullptr);
        report.hidden.assign(report.devices.size(), "");
        for (const auto& device : report.reg->devices) {
            if (device->index >= report.handles.size()) continue;
            report.handles[device->index] = device.get();
            report.hidden[device->index] = device->hidden_because;
        }
        report.state = report.reg->devices.empty() ? "loaded-idle" : "loaded";
        report.message =
            report.devices.empty() ? "reports no device" : report.steps[kStepDevices].detail;
        candidate->pass(kStepRegistered, "as " + report.reg->name);
        log(log_level_of(report.state), "plugin %s: %s: %s %s %s, %s, %.1f ms",
            candidate->name().c_str(), report.state.c_str(), report.note.family,
            report.note.variant, report.note.version, report.message.c_str(),
            static_cast<double>(report.load_ns) / 1e6);
        show(*candidate);
    }
}

Result<ggml_backend_reg_t> Loader::load_one(const std::string& path) {
    FileIdentity identity;
    if (identify(path, &identity)) {
        for (const Candidate* candidate : loaded()) {
            if (!candidate->path.empty() && candidate->identity.same_file(identity)) {
                return candidate->report.reg;
            }
        }
    }
    Candidate* candidate = candidate_for(path, "application");
    candidate->by_name = false;  // the caller gets the error, which is logged as one
    candidate->place = {};
    candidate->repeated = false;
    candidate->start_again();
    run_file_steps(candidate, process_trust_context());
    if (!candidate->refused()) refuse_duplicates({candidate}, loaded());
    Candidates started;
    if (!candidate->refused()) load_family(candidate->family(), {candidate}, &started);
    register_started(started);
    show(*candidate);
    if (!candidate->loaded()) return error_of(*candidate);
    return candidate->report.reg;
}

Result<ggml_backend_reg_t> Loader::load_entry(tenon_plugin_entry_fn entry) {
    auto fresh = std::make_unique<Candidate>();
    Candidate* candidate = fresh.get();
    candidate->report.origin = "linked-in";
    candidate->order = next_order_++;
    PluginError error;
    const tenon_status status = call_plugin(error, entry, host_table("builtin"), &candidate->table);
    if (status != TENON_OK) return error.as_error(status, "entry-failed", "built in");
    // Its texts make the note, so they are looked at first; step 11 looks at the rest.
    if (Check no = check_table_head(candidate->table)) {
        return fail(TENON_E_INVALID, "%s: built in: %s", no->word, no->text.c_str());
    }
    candidate->report.note = note_of_table(*candidate->table);
    candidate->report.has_note = true;
    for (const Candidate* other : loaded()) {
        if (other->table == candidate->table) return other->report.reg;
    }
    run_note_steps(candidate);
    if (!candidate->refused()) refuse_duplicates({candidate}, loaded());
    if (!candidate->refused()) {
        const Candidate* winner = loaded_in_family(candidate->family());
        if (winner) {
            candidate->refuse(kStepChoice, {"variant-not-chosen", why_first(*winner, *candidate)});
        } else {
            candidate->pass(kStepChoice);
            candidate->skip(kStepProbe, "skipped: linked in");
            candidate->pass(kStepOpen, "linked in");
            candidate->pass(kStepEntry);
        }
    }
    if (!candidate->refused() && run_table_steps(candidate)) register_started({candidate});
    const Error refusal = error_of(*candidate);
    auto& slot = candidates_[key_of(*candidate)];
    if (!slot || !slot->loaded()) {  // a double of one that is loaded leaves no record
        show(*candidate);
        slot = std::move(fresh);
    }
    if (!slot->loaded() || slot.get() != candidate) return refusal;
    return candidate->report.reg;
}

Result<void> Loader::unload(ggml_backend_reg_t reg) {
    for (Candidate* candidate : loaded()) {
        if (candidate->report.reg != reg) continue;
        auto removed = unregister_plugin(reg);
        if (!removed) return removed.error();
        keep_for_handles(std::move(*removed));  // its devices are closed
        shut_down(*candidate);
        candidate->library.close();  // unmaps only what is UNLOADABLE
        candidate->table = nullptr;
        candidate->ctx = nullptr;
        candidate->report.reg = nullptr;
        candidate->report.handles.assign(candidate->report.handles.size(), nullptr);
        candidate->report.state = "unloaded";
        candidate->report.message = "unloaded by the application";
        candidate->report.step = kStepRegistered;
        show(*candidate);
        return {};
    }
    return fail(TENON_E_NOT_FOUND, "registration %p was not loaded from a plugin",
                static_cast<void*>(reg));
}

}  // namespace tenon
