// A plugin without a device, built from the installed headers alone.
#include "tenon/plugin.hpp"

namespace {

struct Idle final : tenon::Plugin {
    uint32_t device_count() noexcept override { return 0; }
    void device_info(uint32_t, tenon_device_info&) override {}
    std::unique_ptr<tenon::Device> open(uint32_t, const char*) override { return nullptr; }
};

}  // namespace

TENON_PLUGIN(Idle, "Idle",
             {sizeof(tenon_note_desc),
              TENON_ABI_MAJOR,
              TENON_ABI_MINOR,
              0,
              TENON_TENSOR_LAYOUT_1,
              0,
              TENON_ARCH_ANY,
              10,
              {0, 0, 0, 0},
              "idle",
              "test",
              "org.example.idle",
              "1.0"});
