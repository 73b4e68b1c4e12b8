// A plugin without a device, built from the installed headers and the library of conversions alone.
#include "tenon/plugin.hpp"
#include "tenon/kit.h"
#include "tenon/quant.h"
#include "tenon/types.h"

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
    // 32 numbers to q8_0 and back. A plugin that fails here is not registered.
    void init() override {
        const tenon::quant::Format& q8_0 = *tenon::quant::find_format(GGML_TYPE_Q8_0);
        float x[TENON_BLOCK_Q8_0], y[TENON_BLOCK_Q8_0];
        alignas(tenon_block_q8_0) unsigned char row[TENON_BYTES_Q8_0];
        for (int i = 0; i < TENON_BLOCK_Q8_0; ++i) x[i] = static_cast<float>(127 - 8 * i);
        if (tenon_row_bytes(q8_0.type, TENON_BLOCK_Q8_0) != sizeof row) {
            throw tenon::Failure(TENON_E_INTERNAL, "a row of one block is not one block");
        }
        tenon::quant::quantize_rows(q8_0, x, row, 1, TENON_BLOCK_Q8_0, nullptr);
        q8_0.to_float(row, y, TENON_BLOCK_Q8_0);
        for (int i = 0; i < TENON_BLOCK_Q8_0; ++i) {
            if (x[i] != y[i]) throw tenon::Failure(TENON_E_INTERNAL, "q8_0 is not exact");
        }
    }
    uint32_t device_count() noexcept override { return 0; }
    void device_info(uint32_t, tenon_device_info&) override {}
    std::unique_ptr<tenon::Device> open(uint32_t, const char*) override {
        return std::make_unique<IdleDevice>();
    }
};

}  // namespace

TENON_PLUGIN(Idle, "Idle",
             tenon::Note().family("idle").variant("test").id("org.example.idle").version("1.0"));
