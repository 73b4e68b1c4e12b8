// The exported symbol, the note and the plugin table. Baseline code that shares no inline function
// with the kernels: it runs before anybody knows whether this variant fits the processor.

#include "plugins/cpu/plugin.h"

#include TENON_CPU_VARIANT_HEADER

TENON_PLUGIN_NOTE(tenon::cpu::kNote);

namespace {

constexpr tenon_plugin kTable = {
    sizeof(tenon_plugin),
    TENON_ABI_MAJOR,
    TENON_ABI_MINOR,
    tenon::cpu::kNote.id,
    tenon::cpu::kNote.family,
    tenon::cpu::kNote.variant,
    tenon::cpu::kNote.version,
    /*display_name=*/"CPU",
    /*vendor=*/"Tenon",
    /*license=*/"MIT",
    /*url=*/"",
    /*build_info=*/TENON_CPU_BUILD_INFO,
    tenon::cpu::score,
    tenon::cpu::init,
    tenon::cpu::shutdown,
    tenon::cpu::device_count,
    tenon::cpu::device_info,
    tenon::cpu::device_open,
    tenon::cpu::plugin_extension,
};

}  // namespace

extern "C" TENON_EXPORT tenon_status tenon_plugin_entry_v1(const tenon_host* host,
                                                           const tenon_plugin** out,
                                                           tenon_error* error) {
    if (!host || host->abi_major != TENON_ABI_MAJOR) {
        return tenon_fail(error, TENON_E_VERSION, 0, nullptr, "unsupported host ABI major");
    }
    *out = &kTable;
    return TENON_OK;
}
