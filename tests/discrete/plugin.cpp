// The plugin `discrete`: a device with memory of its own that the host cannot touch, asynchronous
// streams and events, and two ops. It stands in for a GPU where there is none.
//
// Options: devices (1 ... 4, default 1), memory_mib (per device, default 1024).

#include <cstdlib>

#include "tenon/ext/cost.h"
#include "tenon/ext/fault.h"
#include "tests/discrete/math.h"
#include "tests/discrete/stream.h"

namespace tenon::discrete {
namespace {

constexpr uint32_t kMaxDevices = 4;
constexpr const char* kNames[kMaxDevices] = {"Discrete0", "Discrete1", "Discrete2", "Discrete3"};
constexpr tenon_kv kAttributes[] = {{"emulated", "1"}};

class DiscreteDevice final : public Device {
public:
    DiscreteDevice(std::shared_ptr<State> state, const char* name)
        : state_(std::move(state)), name_(name) {}

    State& state() { return *state_; }
    uint32_t offers() const noexcept override { return kEvents; }

    void memory(tenon_memory_info& out) override {
        out.total = state_->memory_total;
        out.free = state_->memory_total - state_->memory_used->load();
    }
    void judge(const ggml_tensor& node, tenon_op_verdict& verdict, bool support_only) override {
        discrete::judge(node, verdict, support_only);
    }
    uint32_t buffer_types() noexcept override { return 1; }
    void buffer_type(uint32_t index, tenon_buft_info& out) override {
        if (index != 0)
            throw Failure(TENON_E_INVALID, "buffer type " + std::to_string(index) + " of 1");
        out.flags = TENON_BUFT_DEVICE | TENON_BUFT_DEFAULT;
        out.name = name_;
        out.alignment = kAlignment;
        out.max_size = UINT64_MAX;
    }
    std::unique_ptr<Buffer> alloc(uint32_t, uint64_t size, uint32_t) override {
        return std::make_unique<DeviceBuffer>(state_, size);
    }
    std::unique_ptr<Stream> stream(const char*) override {
        return std::make_unique<DeviceStream>(state_);
    }
    std::unique_ptr<Event> event() override {
        state_->check();
        return std::make_unique<DeviceEvent>(state_);
    }
    const void* extension(const char* id) noexcept override;

private:
    std::shared_ptr<State> state_;
    const char* name_;
};

tenon_status cost_model(tenon_device*, tenon_cost_model* out, tenon_error*) {
    out->flops_f32 = kFlopsPerSecond;
    out->bytes_per_s = kBytesPerSecond;
    out->h2d_bytes_per_s = out->d2h_bytes_per_s = out->p2p_bytes_per_s = kBytesPerSecond;
    out->launch_ns = out->sync_ns = kLaunchNs;
    out->h2d_latency_ns = out->d2h_latency_ns = kLaunchNs;
    return TENON_OK;
}

State& state_of(tenon_device* device) {
    return static_cast<DiscreteDevice&>(device_of(device)).state();
}

constexpr tenon_ext_cost kCost{sizeof(tenon_ext_cost), 0, cost_model, nullptr};
constexpr tenon_ext_fault kFault{
    sizeof(tenon_ext_fault), 0,
    [](tenon_device* d, uint64_t n) { state_of(d).fail_alloc_in.store(n); },
    [](tenon_device* d, uint64_t n) { state_of(d).lose_device_in.store(n); }};

const void* DiscreteDevice::extension(const char* id) noexcept {
    if (std::strcmp(id, TENON_EXT_COST) == 0) return &kCost;
    if (std::strcmp(id, TENON_EXT_FAULT) == 0) return &kFault;
    return nullptr;
}

class DiscretePlugin final : public Plugin {
public:
    static const char* vendor() noexcept { return "Tenon"; }
    static const char* license() noexcept { return "MIT"; }

    void init() override {
        n_devices_ = static_cast<uint32_t>(number("devices", 1, kMaxDevices));
        memory_total_ = number("memory_mib", 1024, 1u << 20) << 20;
    }
    uint32_t device_count() noexcept override { return n_devices_; }
    void device_info(uint32_t index, tenon_device_info& out) override {
        check(index);
        out.kind = TENON_DEVICE_GPU;
        out.name = kNames[index];
        out.description = "emulated device with memory of its own";
        out.driver = "none";
        out.memory_total = memory_total_;
        out.caps = TENON_CAP_ASYNC | TENON_CAP_EVENTS | TENON_CAP_PEER_COPY;
        out.numa_node = -1;
        out.n_attributes = 1;
        out.attributes = kAttributes;
    }
    std::unique_ptr<Device> open(uint32_t index, const char*) override {
        check(index);
        auto state = std::make_shared<State>();
        state->host = host;
        state->serial = serial;
        state->memory_total = memory_total_;
        state->memory_used = &memory_used_[index];
        return std::make_unique<DiscreteDevice>(std::move(state), kNames[index]);
    }

private:
    void check(uint32_t index) const {
        if (index >= n_devices_) {
            throw Failure(TENON_E_INVALID,
                          "device " + std::to_string(index) + " of " + std::to_string(n_devices_));
        }
    }
    // A whole number from 1 to `limit`; anything else counts as unset.
    uint64_t number(const char* key, uint64_t unset, uint64_t limit) const {
        const char* text = option(key);
        if (!text) return unset;
        const uint64_t n = std::strtoull(text, nullptr, 10);
        if (n >= 1 && n <= limit) return n;
        log(TENON_LOG_WARN, "option %s: '%s' is not between 1 and %llu", key, text,
            static_cast<unsigned long long>(limit));
        return unset;
    }

    uint32_t n_devices_ = 1;
    uint64_t memory_total_ = 0;
    std::atomic<uint64_t> memory_used_[kMaxDevices] = {};
};

}  // namespace
}  // namespace tenon::discrete

TENON_PLUGIN(tenon::discrete::DiscretePlugin, "Discrete",
             tenon::Note()
                 .family("discrete")
                 .variant("test")
                 .id("org.tenon.discrete")
                 .version("0.1.0")
                 .flags(TENON_NOTE_UNLOADABLE | TENON_NOTE_COEXISTS));
