// One plugin file on its way through the loading pipeline, and the record of what happened to it.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <ctime>
#include <optional>
#include <string>
#include <vector>

#include "core/device/device.h"
#include "loader/library.h"
#include "tenon/tenon.h"

namespace tenon {

// The steps of the pipeline, in order; the numbers are part of the report.
enum StepNumber : uint32_t {
    kStepFile = 1,
    kStepNote,
    kStepFilters,
    kStepAbi,
    kStepCpu,
    kStepDuplicates,
    kStepChoice,
    kStepProbe,
    kStepOpen,
    kStepEntry,
    kStepTable,
    kStepScore,
    kStepInit,
    kStepDevices,
    kStepRegistered,
    kStepEnd
};
const char* step_name(uint32_t step);

// Why a file goes no further: a stable word (the state) and a text for people.
struct Refusal {
    const char* word;
    std::string text;
};
using Check = std::optional<Refusal>;  // empty: passed

// Level at which a state is logged, and the status its error carries.
ggml_log_level log_level_of(const std::string& state);
tenon_status status_of(const std::string& state);

struct FileIdentity {
    dev_t device = 0;
    ino_t inode = 0;
    off_t size_bytes = 0;
    timespec modified{};

    bool same_file(const FileIdentity& o) const { return device == o.device && inode == o.inode; }
    bool operator==(const FileIdentity& o) const {
        return same_file(o) && size_bytes == o.size_bytes && modified.tv_sec == o.modified.tv_sec &&
               modified.tv_nsec == o.modified.tv_nsec;
    }
};

// What is known of the place a file was found in.
struct TrustPlace {
    bool root_only = false;  // only root may own what is there
    bool vouched = false;    // named by the library itself or by a file of its administrator
};

struct Step {
    uint32_t outcome = TENON_STEP_NOT_REACHED;
    std::string detail;
};

// What anybody may see of a candidate.
struct Report {
    std::string file, origin, state, message;
    uint32_t step = 0;
    bool has_note = false;
    tenon_note_desc note{};
    uint64_t note_ns = 0, load_ns = 0;
    std::array<Step, kStepEnd> steps;  // by number; [0] unused
    std::vector<DeviceOutcome> devices;
    std::vector<ggml_backend_dev_t> handles;  // of the devices; NULL where refused
    std::vector<std::string> hidden;          // why each is not shown, or ""
    ggml_backend_reg_t reg = nullptr;
};

struct Candidate {
    Report report;
    std::string path;       // links resolved; empty when that failed
    size_t order = 0;       // in search order
    bool by_name = false;   // the user named this file: refusals are errors
    TrustPlace place;       // where it was found
    bool repeated = false;  // changed on disk once already
    FileIdentity identity;

    Library library;
    const tenon_plugin* table = nullptr;
    tenon_plugin_ctx* ctx = nullptr;
    uint32_t serial = 0;
    std::unique_ptr<ggml_backend_reg> made;  // between steps 14 and 15

    const std::string& state() const { return report.state; }
    bool loaded() const { return report.reg != nullptr; }
    bool refused() const { return !report.state.empty() && !loaded(); }
    std::string name() const;  // file name without directories, or the id of one linked in
    std::string family() const { return report.note.family; }
    std::string variant() const { return report.note.variant; }

    void pass(uint32_t step, std::string detail = {});
    void skip(uint32_t step, std::string detail);
    void refuse(uint32_t step, Refusal why);  // sets the state; logs
    void start_again();                       // forgets everything but where the file is
};

}  // namespace tenon
