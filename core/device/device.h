// The objects behind the handles of ggml-backend.h: registrations, devices, buffer types, buffers,
// streams and events. Each wraps a plugin's table (plugin_adapter.cpp), except for the buffer types
// `CPU` and `CPU_Mapped`, which are the core's own host memory.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/base/shared_callback.h"
#include "ggml-backend.h"
#include "tenon/plugin.h"

struct ggml_backend_buffer_type {
    ggml_backend_device* device = nullptr;  // the owner; NULL for the core's own types
    uint32_t index = 0;          // of the plugin's list; meaningless for the core's types
    std::string name;            // unique in the process
    uint32_t flags = 0;          // TENON_BUFT_*
    size_t alignment = 1;        // bytes, a power of two
    size_t max_size = SIZE_MAX;  // bytes
    bool is_host() const { return flags & TENON_BUFT_HOST_LAYOUT; }
};

// What ggml_tensor.buffer points at. Begins with the head that plugins may read.
struct ggml_backend_buffer {
    tenon_buffer_head head{};
    ggml_backend_buffer_type* type = nullptr;
    bool wrapped = false;                     // memory of the application: not ours to free
    std::vector<ggml_backend_buffer*> parts;  // a multi-buffer has parts and no memory
};

struct ggml_backend_device {
    ggml_backend_reg* reg = nullptr;
    uint32_t index = 0;                                // of the plugin
    std::string name, description, driver, device_id;  // device_id: "dddd:bb:dd.f" or empty
    tenon_device_info info{};                          // its texts are copies
    std::vector<tenon_kv> attributes;                  // of info
    ggml_backend_buffer_type* default_buft = nullptr;  // never NULL once registered
    ggml_backend_buffer_type* host_buft = nullptr;     // pinned host memory, or NULL
    std::vector<std::unique_ptr<ggml_backend_buffer_type>> bufts;
    std::vector<ggml_backend_buffer_type*> extra_bufts;  // REPACK types, then a NULL
    std::string hidden_because;                          // not shown by index; empty: shown
    tenon_device* handle = nullptr;                      // open from make_devices() on
    std::atomic<uint32_t> live_objects{0};               // buffers, streams, events

    bool can(uint64_t cap) const { return info.caps & cap; }  // TENON_CAP_*
    enum ggml_backend_dev_type type() const;                  // a kind of later versions: ACCEL
};

struct ggml_backend_reg {
    const tenon_plugin* table = nullptr;
    tenon_plugin_ctx* ctx = nullptr;
    uint32_t serial = 0;
    std::string name;  // tenon_plugin.display_name, unique
    std::string path;
    ggml_guid guid{};  // of its streams: names the implementation
    std::vector<std::unique_ptr<ggml_backend_device>> devices;
    std::vector<ggml_backend_feature> features;  // of tenon.features/1, then a row of NULLs
    uint32_t generation = 0;  // of the process that loaded it: see fork_generation()
    bool fork_safe = false;

    bool is_cpu() const;  // the CPU plugin, whatever its variant
    ~ggml_backend_reg();  // closes the devices that are open, gives back their names
};

// A stream, with the run parameters the application set on it: from any thread, also while another
// computes. A run takes them as they are when it begins (options_of() in core/stream).
struct ggml_backend {
    ggml_backend_device* device = nullptr;
    tenon_stream* handle = nullptr;
    std::atomic<int> n_threads{0};  // 0: the default
    std::atomic<ggml_threadpool*> threadpool{nullptr};
    tenon::SharedCallback<ggml_abort_callback> abort_callback;
    std::atomic<bool> use_ref{false};
    struct Scratch;  // workspace, planned graphs, threads: kept between runs
    std::unique_ptr<Scratch> scratch;
    ggml_backend();
    ~ggml_backend() noexcept(false);  // calls the plugin, which may end the thread
};

struct ggml_backend_event {
    ggml_backend_device* device = nullptr;
    tenon_event* handle = nullptr;
    bool recorded = false;
};

namespace tenon {

// ---- what the loader calls ---------------------------------------------------------------------

// A plugin that passed steps 1 to 13 of the pipeline: table checked, init done.
struct LoadedPlugin {
    const tenon_plugin* table = nullptr;
    tenon_plugin_ctx* ctx = nullptr;
    uint32_t serial = 0;
    std::string path;
    uint32_t note_flags = 0;  // TENON_NOTE_*
};

// Outcome of step 14 for one device.
struct DeviceOutcome {
    uint32_t index = 0;
    std::string name;     // as far as it is known
    std::string refused;  // why it was not registered; empty: it was
    std::string hidden;   // why it is not shown: known after register_plugins(), see hidden_because
};

// The host table for one plugin: log, memory, clock, options of its family, extensions. The address
// stays valid until the process ends.
const tenon_host* host_table(const std::string& family);

// Step 14: asks for the devices, opens them and checks their records (plugin-abi.md section 11). A
// device that fails is left out. The registration becomes visible with register_plugins().
struct MadeDevices {
    std::unique_ptr<ggml_backend_reg> reg;
    std::vector<DeviceOutcome> devices;
};
Result<MadeDevices> make_devices(const LoadedPlugin& plugin);

// Makes registrations of one load visible, devices sorted: ACCEL, GPU, IGPU, CPU; inside a kind by
// preference, then plugin order, then index; the setting `devices` (TENON_DEVICES) overrides.
// Devices that are not shown have hidden_because set afterwards. Returns the stable pointers in the
// given order.
std::vector<ggml_backend_reg_t> register_plugins(
    std::vector<std::unique_ptr<ggml_backend_reg>> regs);

// Warns about names of the setting `devices` that no registered device has.
void registry_check_list();

// Takes a registration out and closes its devices: TENON_E_BUSY while a stream, buffer or event of
// it lives. The caller then owns it and calls shutdown.
Result<std::unique_ptr<ggml_backend_reg>> unregister_plugin(ggml_backend_reg_t reg);

// Keeps what is left of a registration that was taken out, for the handles that applications still
// hold: their names remain, every other use fails. Nothing in it points into the plugin any more.
void keep_for_handles(std::unique_ptr<ggml_backend_reg> reg);

// ---- what placement and memory call -----------------------------------------------------------

// Verdicts of a device on many nodes at once, which all pass check_node() and are no view ops;
// `want_cost` false asks for support only.
Result<void> query_ops(ggml_backend_dev_t device, const ggml_tensor* const* nodes, size_t n,
                       tenon_op_verdict* out, bool want_cost);

// Why a verdict is no: the plugin's own words, else what its reason means.
const char* refusal_text(const tenon_op_verdict& verdict);
// What the device says of its memory, as far as it is possible; zeroes for what it does not know.
Result<tenon_memory_info> memory_of(ggml_backend_dev_t device);

// Whether kernels of the device may use tensors that lie in this buffer type.
bool supports_buft(const ggml_backend_device& device, const ggml_backend_buffer_type& buft);

// Runs nodes [0, n) on a stream, none of which reads a later one. use_counts as in
// tenon_graph_view, NULL: unknown; uid 0: unknown.
Result<void> run_nodes(ggml_backend_t stream, ggml_tensor* const* nodes, const int32_t* use_counts,
                       size_t n, uint64_t uid);

// Whether nobody has freed the stream yet; for those that outlive the streams they were made for.
bool is_alive(const ggml_backend* stream);

// Waits for all work of the stream; the first failure of queued work surfaces here.
Result<void> synchronize_stream(ggml_backend_t stream);

// A number no other graph of this process has.
uint64_t fresh_graph_uid();

// Bytes of the tensor's type and shape in this buffer type, padding included.
size_t alloc_size(ggml_backend_buffer_type_t buft, const ggml_tensor* tensor);

// Several buffers as one. Owns the parts, also when it fails.
Result<ggml_backend_buffer_t> make_multi_buffer(std::vector<ggml_backend_buffer_t> parts);

// The device's handle. Fails when the device belongs to the parent of a forked process.
Result<tenon_device*> open_device(ggml_backend_dev_t device);

// The first CPU device, loading plugins when none is loaded yet; NULL when there is none.
ggml_backend_dev_t cpu_device();

}  // namespace tenon
