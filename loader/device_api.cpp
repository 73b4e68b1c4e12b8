// The C functions of tenon.h about devices: what the plugin said of them, and questions to them.

#include <vector>

#include "core/base/cpu_features.h"
#include "core/base/text.h"
#include "core/device/estimate.h"
#include "core/device/plugin_adapter.h"
#include "core/ops/recheck.h"
#include "loader/c_api.h"
#include "tenon/tenon.h"
#include "tenon/tensor.h"

using namespace tenon;

namespace {

Error null_device() { return fail(TENON_E_INVALID, "device or record is NULL"); }

// Answers that need no plugin: views are never computed, and nodes that break a rule are nobody's.
// False: the device has to be asked.
bool answer_without_plugin(const ggml_tensor& node, tenon_op_verdict* out) {
    *out = {};
    if (tenon_is_view_op(node.op)) {
        out->support = TENON_SUPPORT_YES;
        out->flags = TENON_VERDICT_CACHEABLE;
        return true;
    }
    const auto checked = check_node(node);
    if (checked) return false;
    out->support = TENON_SUPPORT_NO;
    out->reason = TENON_REASON_OP_PARAM;
    out->detail = keep(checked.error().text);
    return true;
}

Result<void> query_any(ggml_backend_dev_t device, const ggml_tensor* const* nodes, size_t n,
                       tenon_op_verdict* out, bool want_cost) {
    std::vector<const ggml_tensor*> asked;
    std::vector<size_t> places;
    for (size_t i = 0; i < n; ++i) {
        if (!nodes[i]) return fail(TENON_E_INVALID, "node %zu of %zu is null", i, n);
        if (answer_without_plugin(*nodes[i], &out[i])) continue;
        asked.push_back(nodes[i]);
        places.push_back(i);
    }
    std::vector<tenon_op_verdict> verdicts(asked.size());
    auto ok = query_ops(device, asked.data(), asked.size(), verdicts.data(), want_cost);
    if (!ok) return ok;
    for (size_t i = 0; i < places.size(); ++i) out[places[i]] = verdicts[i];
    return {};
}

}  // namespace

extern "C" {

tenon_status tenon_device_describe(ggml_backend_dev_t device, tenon_device_info* out) {
    return status_of_call([&]() -> Result<void> {
        if (!device || !out) return null_device();
        write_record(out, device->info);
        return {};
    });
}

tenon_status tenon_device_memory(ggml_backend_dev_t device, tenon_memory_info* out) {
    return status_of_call([&]() -> Result<void> {
        if (!device || !out) return null_device();
        auto memory = memory_of(device);
        if (!memory) return memory.error();
        write_record(out, *memory);
        return {};
    });
}

bool tenon_device_buffer_type(ggml_backend_dev_t device, size_t index, tenon_buft_info* out) {
    if (!device || !out || index >= device->bufts.size()) return false;
    const ggml_backend_buffer_type& buft = *device->bufts[index];
    const tenon_buft_info record{sizeof record, buft.flags, buft.name.c_str(), buft.alignment,
                                 buft.max_size};
    return write_record(out, record);
}

bool tenon_device_has_extension(ggml_backend_dev_t device, const char* id) {
    return guard<bool>(false, [&] {
        if (!device || !id) return false;
        return device_extension(*device, id) || (device->reg && plugin_extension(*device->reg, id));
    });
}

tenon_status tenon_device_query(ggml_backend_dev_t device, const ggml_tensor* const* nodes,
                                size_t n, tenon_op_verdict* out, bool want_cost) {
    return status_of_call([&]() -> Result<void> {
        if (!device || (n > 0 && (!nodes || !out))) return null_device();
        return query_any(device, nodes, n, out, want_cost);
    });
}

tenon_status tenon_device_estimate(ggml_backend_dev_t device, const ggml_tensor* node,
                                   const tenon_op_verdict* verdict, tenon_estimate* out) {
    return status_of_call([&]() -> Result<void> {
        if (!device || !out) return null_device();
        if (!node || !verdict) return fail(TENON_E_INVALID, "node or verdict is NULL");
        write_record(out, estimate(rates_of(*device), *node, *verdict));
        return {};
    });
}

const char* tenon_cpu_features(void) {
    return guard<const char*>("", [] {
        std::string names;
        for (const IsaBit& bit : isa_bits()) {
            if (!cpu_features().has(bit.bit)) continue;
            names += (names.empty() ? "" : " ") + std::string(bit.name);
        }
        return keep(names);
    });
}

bool tenon_cpu_masked_feature(size_t index, const char** name, const char** reason) {
    return guard<bool>(false, [&] {
        const CpuFeatures& features = cpu_features();
        if (index >= static_cast<size_t>(features.n_masked)) return false;
        if (name) *name = isa_bit_name(features.masked[index].bit);
        if (reason) *reason = features.masked[index].reason;
        return true;
    });
}

}  // extern "C"
