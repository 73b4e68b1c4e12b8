// Devices: properties, the op question, and which buffer types they can use.

#include <cstdlib>

#include "core/base/log.h"
#include "core/base/os.h"
#include "core/device/plugin_adapter.h"
#include "core/device/plugin_checks.h"
#include "core/ops/recheck.h"
#include "core/stream/stream.h"
#include "core/tensor/shape.h"
#include "tenon/tenon.h"
#include "tenon/tensor.h"

enum ggml_backend_dev_type ggml_backend_device::type() const {
    return info.kind <= TENON_DEVICE_ACCEL ? static_cast<enum ggml_backend_dev_type>(info.kind)
                                           : GGML_BACKEND_DEVICE_TYPE_ACCEL;
}

namespace tenon {
namespace {

// GGML_OP_OFFLOAD_MIN_BATCH, or 0 when the device's own judgement counts.
int64_t offload_min_batch() {
    static const int64_t n = [] {
        const char* text = os::environment("GGML_OP_OFFLOAD_MIN_BATCH");
        if (!text) return 0ll;
        char* end = nullptr;
        const long long value = std::strtoll(text, &end, 10);
        if (end != text && *end == 0 && value >= 0) return value;
        log(GGML_LOG_LEVEL_WARN, "GGML_OP_OFFLOAD_MIN_BATCH is '%s', expected a number; ignored",
            text);
        return 0ll;
    }();
    return n;
}

int64_t batch_of(const ggml_tensor& node) {
    switch (node.op) {
        case GGML_OP_GET_ROWS:
            return 0;
        case GGML_OP_MUL_MAT:
            return node.ne[1];
        case GGML_OP_MUL_MAT_ID:
        case GGML_OP_ROPE:
        case GGML_OP_ROPE_BACK:
            return node.ne[2];
        default:
            return nrows(node);
    }
}

// Sources in memory of another device that the host cannot lend either.
bool has_foreign_source(const ggml_backend_device& device, const ggml_tensor& node) {
    for (const ggml_tensor* src : node.src) {
        const ggml_backend_buffer* buffer = src ? tenon_effective_buffer(src) : nullptr;
        if (!buffer || buffer->type->is_host()) continue;
        if (!supports_buft(device, *buffer->type)) return true;
    }
    return false;
}

// The device's verdict, or why there is none: the node breaks a rule, or nobody can be asked.
Result<tenon_op_verdict> verdict_of(ggml_backend_device& device, const ggml_tensor& node,
                                    bool want_cost) {
    if (auto ok = check_node(node); !ok) return ok.error();
    const ggml_tensor* nodes[] = {&node};
    tenon_op_verdict verdict;
    if (auto ok = query_ops(&device, nodes, 1, &verdict, want_cost); !ok) return ok.error();
    return verdict;
}

// An application that is told "no" has nothing to show but its own guess: the log has the reason.
bool supports_op(ggml_backend_device& device, const ggml_tensor& node) {
    const auto no = [&](const char* why) {
        if (log_asked_for(GGML_LOG_LEVEL_DEBUG)) {
            log(GGML_LOG_LEVEL_DEBUG, "device '%s' does not compute node '%s' (%s): %s",
                device.name.c_str(), node.name, ggml_op_desc(&node), why);
        }
        return false;
    };
    if (has_foreign_source(device, node)) return no("a source lies in memory it cannot use");
    const auto verdict = verdict_of(device, node, /*want_cost=*/false);
    if (!verdict) return no(verdict.error().text);
    return verdict->support != TENON_SUPPORT_NO || no(refusal_text(*verdict));
}

}  // namespace

Result<void> query_ops(ggml_backend_dev_t device, const ggml_tensor* const* nodes, size_t n,
                       tenon_op_verdict* out, bool want_cost) {
    auto handle = open_device(device);
    if (!handle) return handle.error();
    if (n > UINT32_MAX) return fail(TENON_E_INVALID, "a query for %zu nodes", n);
    std::fill_n(out, n, tenon_op_verdict{});
    tenon_op_query query{};
    query.struct_size = sizeof query;
    query.n = static_cast<uint32_t>(n);
    query.ops = nodes;
    query.verdicts = out;
    query.stride = sizeof *out;
    query.want = want_cost ? 0 : 1;
    PluginError error;
    const tenon_status status = call_plugin(error, (*handle)->v->query_ops, *handle, &query);
    if (status != TENON_OK) {
        return error.as_error(status, device->name.c_str(), "cannot judge nodes");
    }
    for (size_t i = 0; i < n; ++i) correct(&out[i]);
    return {};
}

const char* refusal_text(const tenon_op_verdict& verdict) {
    return verdict.detail ? verdict.detail : tenon_reason_word(verdict.reason);
}

Result<tenon_memory_info> memory_of(ggml_backend_dev_t device) {
    auto handle = open_device(device);
    if (!handle) return handle.error();
    tenon_memory_info info{};
    info.struct_size = sizeof info;
    PluginError error;
    const tenon_status status = call_plugin(error, (*handle)->v->memory, *handle, &info);
    if (status != TENON_OK) {
        return error.as_error(status, device->name.c_str(), "cannot tell its memory");
    }
    correct(&info);
    return info;
}

// Free and total bytes; zero when the device cannot tell: applications take that for "nothing to
// report".
static tenon_memory_info known_memory_of(ggml_backend_dev_t device) {
    auto info = memory_of(device);
    if (info) return *info;
    log(GGML_LOG_LEVEL_WARN, "%s", info.error().text);
    return {};
}

bool supports_buft(const ggml_backend_device& device, const ggml_backend_buffer_type& buft) {
    if (buft.device == &device) return true;
    if (buft.device && buft.device->reg == device.reg &&
        (&buft == device.default_buft || &buft == device.host_buft)) {
        return true;  // a type the plugin lists for several devices
    }
    if (buft.is_host() && device.can(TENON_CAP_READS_HOST)) return true;
    if (!device.handle || !device.handle->v->buft_accepts || !may_enter(*device.reg)) return false;
    tenon_buft_info foreign{};
    foreign.struct_size = sizeof foreign;
    foreign.flags = buft.flags;
    foreign.name = buft.name.c_str();
    foreign.alignment = buft.alignment;
    foreign.max_size = buft.max_size;
    tenon_device_info host{};
    host.struct_size = sizeof host;
    host.name = "CPU";
    const tenon_device_info* owner = buft.device ? &buft.device->info : &host;
    return ask_plugin(device.name.c_str(), "buft_accepts", 0, device.handle->v->buft_accepts,
                      device.handle, &foreign, owner) != 0;
}

}  // namespace tenon

using namespace tenon;

extern "C" {

const char* ggml_backend_dev_name(ggml_backend_dev_t device) {
    return device ? device->name.c_str() : "NULL";
}

const char* ggml_backend_dev_description(ggml_backend_dev_t device) {
    return device ? device->description.c_str() : "NULL";
}

void ggml_backend_dev_memory(ggml_backend_dev_t device, size_t* free, size_t* total) {
    guard_void([&]() -> Result<void> {
        const tenon_memory_info memory = device ? known_memory_of(device) : tenon_memory_info{};
        if (free) *free = memory.free;
        if (total) *total = memory.total;
        if (!device) return fail(TENON_E_INVALID, "device is null");
        return {};
    });
}

enum ggml_backend_dev_type ggml_backend_dev_type(ggml_backend_dev_t device) {
    return device ? device->type() : GGML_BACKEND_DEVICE_TYPE_CPU;
}

void ggml_backend_dev_get_props(ggml_backend_dev_t device, ggml_backend_dev_props* props) {
    if (!props) return;
    *props = {};
    props->name = props->description = "NULL";
    guard_void([&]() -> Result<void> {
        if (!device) return fail(TENON_E_INVALID, "device is null");
        const tenon_memory_info memory = known_memory_of(device);
        const bool uses_core_memory = device->default_buft->device == nullptr;
        props->name = device->name.c_str();
        props->description = device->description.c_str();
        props->memory_free = memory.free;
        props->memory_total = memory.total;
        props->type = device->type();
        props->device_id = device->device_id.empty() ? nullptr : device->device_id.c_str();
        props->caps.async = device->can(TENON_CAP_ASYNC);
        props->caps.host_buffer = device->can(TENON_CAP_PINNED_HOST);
        props->caps.buffer_from_host_ptr = device->can(TENON_CAP_WRAP_HOST_PTR) || uses_core_memory;
        props->caps.events = device->can(TENON_CAP_EVENTS);
        props->caps.mmap_support = device->can(TENON_CAP_MMAP_FRIENDLY);
        return {};
    });
}

ggml_backend_reg_t ggml_backend_dev_backend_reg(ggml_backend_dev_t device) {
    return device ? device->reg : nullptr;
}

ggml_backend_buffer_type_t ggml_backend_dev_buffer_type(ggml_backend_dev_t device) {
    return device ? device->default_buft : nullptr;
}

ggml_backend_buffer_type_t ggml_backend_dev_host_buffer_type(ggml_backend_dev_t device) {
    return device ? device->host_buft : nullptr;
}

bool ggml_backend_dev_supports_op(ggml_backend_dev_t device, const ggml_tensor* op) {
    return guard<bool>(false, [&]() -> bool {
        if (!device || !op) return false;
        if (tenon_is_view_op(op->op)) return true;
        return supports_op(*device, *op);
    });
}

bool ggml_backend_dev_supports_buft(ggml_backend_dev_t device, ggml_backend_buffer_type_t buft) {
    return guard<bool>(false, [&] { return device && buft && supports_buft(*device, *buft); });
}

bool ggml_backend_dev_offload_op(ggml_backend_dev_t device, const ggml_tensor* op) {
    return guard<bool>(false, [&]() -> bool {
        if (!device || !op || device->type() == GGML_BACKEND_DEVICE_TYPE_CPU) return false;
        if (tenon_is_view_op(op->op)) return false;
        const auto verdict = verdict_of(*device, *op, /*want_cost=*/true);
        if (!verdict || verdict->support == TENON_SUPPORT_NO) return false;
        if (const int64_t n = offload_min_batch()) return batch_of(*op) >= n;
        return verdict->flags & TENON_VERDICT_WANTS_OP;
    });
}

const char* ggml_backend_meta_split_axis_name(enum ggml_backend_meta_split_axis axis) {
    switch (axis) {
        case GGML_BACKEND_SPLIT_AXIS_0:
            return "0";
        case GGML_BACKEND_SPLIT_AXIS_1:
            return "1";
        case GGML_BACKEND_SPLIT_AXIS_2:
            return "2";
        case GGML_BACKEND_SPLIT_AXIS_3:
            return "3";
        case GGML_BACKEND_SPLIT_AXIS_MIRRORED:
            return "MIRRORED";
        case GGML_BACKEND_SPLIT_AXIS_PARTIAL:
            return "PARTIAL";
        case GGML_BACKEND_SPLIT_AXIS_NONE:
            return "NONE";
        default:
            return "UNKNOWN";
    }
}

}  // extern "C"
