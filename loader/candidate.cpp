// One plugin file on its way through the loading pipeline, and the record of what happened to it.

#include "loader/candidate.h"

#include <cstring>

#include "core/base/log.h"
#include "loader/states.h"

namespace tenon {
namespace {

constexpr const char* kStepNames[kStepEnd] = {
    "",      "file",   "note",  "filters", "abi",   "cpu features", "duplicates", "choice",
    "probe", "dlopen", "entry", "table",   "score", "init",         "devices",    "registered",
};

}  // namespace

const char* step_name(uint32_t step) { return step < kStepEnd ? kStepNames[step] : ""; }

ggml_log_level log_level_of(const std::string& state) {
    const StateRow* row = state_row(state);
    return row ? row->level : GGML_LOG_LEVEL_WARN;
}

tenon_status status_of(const std::string& state) {
    const StateRow* row = state_row(state);
    return row ? row->status : TENON_E_INVALID;
}

std::string Candidate::name() const {
    if (report.file.empty()) return report.note.id;
    return report.file.substr(report.file.rfind('/') + 1);
}

void Candidate::pass(uint32_t step, std::string detail) {
    report.step = step;
    report.steps[step] = {TENON_STEP_OK, std::move(detail)};
}

void Candidate::skip(uint32_t step, std::string detail) {
    report.step = step;
    report.steps[step] = {TENON_STEP_SKIPPED, std::move(detail)};
}

void Candidate::refuse(uint32_t step, Refusal why) {
    report.step = step;
    report.state = why.word;
    report.message = why.text;
    report.steps[step] = {TENON_STEP_FAILED, std::move(why.text)};
    const ggml_log_level level = by_name ? GGML_LOG_LEVEL_ERROR : log_level_of(report.state);
    log_once(level, "plugin %s: %s: %s", report.file.empty() ? "built in" : report.file.c_str(),
             report.state.c_str(), report.message.c_str());
}

void Candidate::start_again() {
    Report fresh;
    fresh.file = std::move(report.file);
    fresh.origin = std::move(report.origin);
    report = std::move(fresh);
    path.clear();
    identity = {};
    library.close();
    table = nullptr;
    ctx = nullptr;
    serial = 0;
}

}  // namespace tenon
