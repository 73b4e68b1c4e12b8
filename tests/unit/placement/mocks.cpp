// The mock devices, as a plugin that is part of the test program.

#include "tests/unit/placement/mocks.h"

#include <cstring>

#include "core/device/device.h"
#include "tenon/plugin.hpp"

namespace tenon::test {

MockBehaviour g_mock[kMocks];
bool g_mock_quiet = false;
std::vector<std::string> g_mock_log;

namespace {

constexpr const char* kNames[kMocks] = {"M0", "M1", "ACC", "CPU"};
constexpr uint32_t kKinds[kMocks] = {TENON_DEVICE_GPU, TENON_DEVICE_GPU, TENON_DEVICE_ACCEL,
                                     TENON_DEVICE_CPU};

bool has_memory(uint32_t which) { return which == kM0 || which == kM1; }

class MockBuffer final : public Buffer {
public:
    MockBuffer(uint32_t which, uint64_t size) : which_(which), bytes_(size + 64) {}
    void* base() override {
        return reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(bytes_.data()) + 31) &
                                       ~uintptr_t{31});
    }
    void set(ggml_tensor& t, const void* src, const tenon_region& r) override {
        if (!g_mock_quiet)
            g_mock_log.push_back(std::string(kNames[which_]) + " set " + t.name + " " +
                                 std::to_string(r.offset) + " " + std::to_string(r.size));
        std::memcpy(static_cast<char*>(t.data) + r.offset, src, r.size);
    }
    void get(const ggml_tensor& t, void* dst, const tenon_region& r) override {
        if (!g_mock_quiet) g_mock_log.push_back(std::string(kNames[which_]) + " get " + t.name);
        std::memcpy(dst, static_cast<const char*>(t.data) + r.offset, r.size);
    }
    void fill(ggml_tensor& t, uint8_t value, uint64_t offset, uint64_t size) override {
        std::memset(static_cast<char*>(t.data) + offset, value, size);
    }
    void clear(uint8_t value) override { std::memset(bytes_.data(), value, bytes_.size()); }

private:
    uint32_t which_;
    std::vector<char> bytes_;
};

class MockStream final : public Stream {
public:
    explicit MockStream(uint32_t which) : which_(which) {}
    void run(const tenon_graph_view& graph, const tenon_run_params&) override {
        if (g_mock[which_].run_status != TENON_OK)
            throw Failure(g_mock[which_].run_status, "failed on request");
        if (g_mock_quiet) return;
        std::string line = std::string(kNames[which_]) + " run";
        for (uint32_t i = 0; i < graph.n_nodes; i++)
            line += std::string(" ") + graph.nodes[i]->name;
        g_mock_log.push_back(line);
    }

private:
    uint32_t which_;
};

class MockDevice final : public Device {
public:
    explicit MockDevice(uint32_t which) : which_(which) {}
    void memory(tenon_memory_info& out) override { out.total = out.free = 1u << 30; }
    void judge(const ggml_tensor& node, tenon_op_verdict& verdict, bool) override {
        const MockBehaviour& mock = g_mock[which_];
        if (const char* reason = mock.refuses ? mock.refuses(node) : nullptr) {
            verdict.reason = TENON_REASON_NOT_IMPLEMENTED;
            verdict.detail = reason;
            return;
        }
        verdict.support = TENON_SUPPORT_YES;
        if (mock.wants && mock.wants(node)) verdict.flags |= TENON_VERDICT_WANTS_OP;
    }
    uint32_t buffer_types() noexcept override { return has_memory(which_) ? 1 : 0; }
    void buffer_type(uint32_t, tenon_buft_info& out) override {
        out.flags = TENON_BUFT_DEVICE | TENON_BUFT_DEFAULT;
        out.name = kNames[which_];
        out.alignment = 32;
        out.max_size = UINT64_MAX;
    }
    std::unique_ptr<Buffer> alloc(uint32_t, uint64_t size, uint32_t) override {
        if (size > g_mock[which_].fail_alloc_above) throw Failure(TENON_E_NO_DEVICE_MEMORY, "full");
        return std::make_unique<MockBuffer>(which_, size);
    }
    std::unique_ptr<Stream> stream(const char*) override {
        return std::make_unique<MockStream>(which_);
    }

private:
    uint32_t which_;
};

class MockPlugin final : public Plugin {
public:
    uint32_t device_count() noexcept override { return kMocks; }
    void device_info(uint32_t index, tenon_device_info& out) override {
        out.kind = kKinds[index];
        out.name = kNames[index];
        out.description = "mock";
        out.driver = "none";
        out.caps = has_memory(index) ? 0 : TENON_CAP_READS_HOST;
        out.numa_node = -1;
    }
    std::unique_ptr<Device> open(uint32_t index, const char*) override {
        return std::make_unique<MockDevice>(index);
    }
};

constexpr tenon_note_desc kNote{sizeof(tenon_note_desc),
                                TENON_ABI_MAJOR,
                                TENON_ABI_MINOR,
                                0,
                                TENON_TENSOR_LAYOUT_1,
                                0,
                                TENON_ARCH_ANY,
                                1,
                                {0, 0, 0, 0},
                                "cpu",  // one of its devices is called so
                                "m",
                                "org.tenon.mock",
                                "1"};

// Registered once; the registry keeps it until the program ends.
ggml_backend_reg_t mock_registration() {
    static const ggml_backend_reg_t reg = [] {
        LoadedPlugin plugin;
        plugin.table = detail::plugin_table<MockPlugin>(kNote, "Mock");
        plugin.serial = 77;
        tenon_plugin_config config{};
        config.struct_size = sizeof config;
        config.serial = plugin.serial;
        plugin.table->init(host_table("cpu"), &config, &plugin.ctx, nullptr);
        auto adopted = make_devices(plugin);
        std::vector<std::unique_ptr<ggml_backend_reg>> regs;
        if (adopted) regs.push_back(std::move(adopted->reg));
        const auto published = register_plugins(std::move(regs));
        return published.empty() ? nullptr : published[0];
    }();
    return reg;
}

}  // namespace

MockBackends::MockBackends() {
    for (MockBehaviour& mock : g_mock) mock = {};
    g_mock_log.clear();
    ggml_backend_reg_t reg = mock_registration();
    for (size_t i = 0; i < ggml_backend_reg_dev_count(reg); i++) {
        ggml_backend_dev_t device = ggml_backend_reg_dev_get(reg, i);
        for (int which = 0; which < kMocks; which++) {
            if (std::strcmp(ggml_backend_dev_name(device), kNames[which]) == 0) {
                streams_[which].reset(ggml_backend_dev_init(device, nullptr));
            }
        }
    }
}

}  // namespace tenon::test
