// A plugin inside the test program: tables built at run time, devices that compute a few f32 ops,
// memory the host cannot touch, queues that run as late as allowed, and answers that are wrong on
// demand.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/device/device.h"
#include "tenon/ext/cost.h"
#include "tenon/ext/features.h"

namespace tenon::test {

struct FakeBuft {
    std::string name;
    uint32_t flags = TENON_BUFT_DEVICE | TENON_BUFT_DEFAULT;
    uint64_t alignment = 64;
    uint64_t max_size = UINT64_MAX;
    uint64_t extra_bytes = 0;  // that every tensor takes behind its data
};

struct FakeDevice {
    std::string name;
    uint32_t kind = TENON_DEVICE_ACCEL;
    uint64_t caps = TENON_CAP_ASYNC | TENON_CAP_EVENTS;
    std::vector<FakeBuft> bufts;  // empty: works in the core's memory
    int32_t preference = 0;
    tenon_device_identity identity{};

    // What it answers.
    bool null_name = false;                                    // device_info without a name
    bool incomplete = false;                                   // function table too short
    std::function<const char*(const ggml_tensor&)> refuses{};  // NULL: supported
    uint64_t workspace = 0;                                    // bytes every node asks for
    uint64_t time_ns = 0;                     // every node takes; 0: it does not tell
    uint32_t confidence = 0;                  // of time_ns
    std::optional<tenon_cost_model> rates{};  // none: without tenon.cost/1
    tenon_status rates_status = TENON_OK;
    bool cacheable = true;
    uint32_t verdict_flags = 0;
    tenon_status open_status = TENON_OK;
    tenon_status memory_status = TENON_OK;
    tenon_status alloc_status = TENON_OK;
    tenon_status tensor_init_status = TENON_OK;
    tenon_status stream_status = TENON_OK;
    tenon_status run_status = TENON_OK;
    tenon_status sync_status = TENON_OK;  // told once, at the next synchronize
    bool misaligned_base = false;
    bool cannot_fill = false;
    bool accepts_all_bufts = false;
    bool copies_on_device = true;  // tensor_copy of buffers and streams

    // What it was asked.
    int n_queried = 0;  // nodes judged
    int n_runs = 0;
    int n_closed = 0;
    std::vector<std::string> ran{};  // names of computed nodes
    uint32_t last_threads = 0;
    uint32_t last_flags = 0;  // of the run
    uint32_t last_graph_flags = 0;
    uint64_t last_uid = 0;
    uint64_t last_workspace_size = 0;
    std::vector<int32_t> last_use_counts{};
};

class FakePlugin {
public:
    // `display_name` is the registration's name; the plugin lives until the end of the program, as
    // plugins do.
    static FakePlugin& make(const std::string& display_name, std::vector<FakeDevice> devices);

    // Adopts and publishes the plugin; the devices in the plugin's order, NULL where refused.
    ggml_backend_reg_t load();
    ggml_backend_dev_t device(size_t i) const;
    FakeDevice& fake(size_t i) { return *devices_[i]; }
    size_t n_devices() const { return devices_.size(); }
    std::vector<DeviceOutcome> outcomes;

    // Takes it out again; false while an object lives.
    bool unload();

    tenon_plugin table{};
    uint32_t note_flags = 0;  // TENON_NOTE_*
    tenon_ext_features features{};
    std::vector<tenon_kv> feature_items;

private:
    std::string display_name_;
    std::vector<std::unique_ptr<FakeDevice>> devices_;
    ggml_backend_reg_t reg_ = nullptr;
};

// Memory of a fake device as the host may see it: its addresses have a bit too many.
void* visible(const void* device_address);

// The CPU stand-in of a test program: published once, on first use. It computes on worker threads
// in the core's host memory.
FakePlugin& fake_cpu();

}  // namespace tenon::test
