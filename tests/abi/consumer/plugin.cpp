// A plugin without a device, built from the installed headers alone.
#include "tenon/plugin.hpp"
#include "tenon/kit.h"

namespace {

struct Kernel {
    tenon::kit::Verdict (*supports)(const ggml_tensor& node);
};
constexpr Kernel kAdd{[](const ggml_tensor& node) {
    return tenon::kit::has_dense_rows(node)
               ? tenon::kit::yes()
               : tenon::kit::no(TENON_REASON_STRIDES, "rows must be dense");
}};
constexpr tenon::kit::KernelRow<Kernel> kRows[] = {{GGML_OP_ADD, &kAdd}};
using Kernels = tenon::kit::KernelList<kRows>;

struct IdleDevice final : tenon::Device {
    void memory(tenon_memory_info&) override {}
    void judge(const ggml_tensor& node, tenon_op_verdict& verdict, bool) override {
        Kernels::judge(node, verdict, [](const Kernel&, tenon_op_verdict&) {});
    }
    std::unique_ptr<tenon::Stream> stream(const char*) override { return nullptr; }
};

struct Idle final : tenon::Plugin {
    uint32_t device_count() noexcept override { return 0; }
    void device_info(uint32_t, tenon_device_info&) override {}
    std::unique_ptr<tenon::Device> open(uint32_t, const char*) override {
        return std::make_unique<IdleDevice>();
    }
};

}  // namespace

TENON_PLUGIN(Idle, "Idle",
             tenon::Note().family("idle").variant("test").id("org.example.idle").version("1.0"));
