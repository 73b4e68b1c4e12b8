// The host table: what a plugin may ask of the core. One table per family, since options are looked
// up under the family's name.

#include <map>
#include <mutex>

#include "core/base/limits.h"
#include "core/base/log.h"
#include "core/base/os.h"
#include "core/base/settings.h"
#include "core/device/device.h"
#include "core/device/plugin_checks.h"
#include "core/stream/threads.h"
#include "core/tensor/types.h"
#include "tenon/ext/limits.h"
#include "tenon/ext/threads.h"
#include "tenon/tenon.h"

namespace tenon {
namespace {

struct FamilyHost : tenon_host {
    std::string family;
};

ggml_log_level level_of(int32_t level) {
    switch (level) {
        case TENON_LOG_DEBUG:
            return GGML_LOG_LEVEL_DEBUG;
        case TENON_LOG_INFO:
            return GGML_LOG_LEVEL_INFO;
        case TENON_LOG_WARN:
            return GGML_LOG_LEVEL_WARN;
        default:
            return GGML_LOG_LEVEL_ERROR;
    }
}

void host_log(const tenon_host* host, int32_t level, const char* topic, const char* text) {
    guard_void([&] {
        const auto* family = host ? static_cast<const FamilyHost*>(host)->family.c_str() : "plugin";
        const Readable<kMaxNameBytes> about(topic ? topic : family);
        log(level_of(level), "%s: %s", about.text, Readable<1024>(text).text);
    });
}

void* host_alloc(const tenon_host*, size_t size, size_t align) {
    return os::alloc_aligned(size, align);
}

void host_free(const tenon_host*, void* p, size_t size, size_t align) {
    os::free_aligned(p, size, align);
}

uint64_t host_now_ns(const tenon_host*) { return os::now_ns(); }

const char* host_option(const tenon_host* host, const char* key) {
    if (!host || !key || !check_name("key", key)) return nullptr;
    return guard<const char*>(nullptr, [&] {
        return setting((static_cast<const FamilyHost*>(host)->family + "." + key).c_str());
    });
}

struct TypeInfos {
    tenon_type_info rows[GGML_TYPE_COUNT];
    TypeInfos() {
        for (int i = 0; i < GGML_TYPE_COUNT; ++i) {
            const tenon_type& type = tenon_types[i];
            const ggml_type_traits* traits = ggml_get_type_traits(static_cast<ggml_type>(i));
            rows[i] = {sizeof(tenon_type_info),
                       i,
                       type.name,
                       static_cast<uint32_t>(type.block),
                       static_cast<uint32_t>(type.bytes),
                       type.quantized,
                       0,
                       traits ? traits->to_float : nullptr,
                       traits ? traits->from_float_ref : nullptr};
        }
    }
};

const tenon_type_info* host_type_info(const tenon_host*, int32_t type) {
    static const TypeInfos infos;
    return is_usable_type(type) ? &infos.rows[type] : nullptr;
}

const char* host_op_name(const tenon_host*, int32_t op, int32_t sub_op) {
    if (op == GGML_OP_UNARY && sub_op >= 0) {
        return ggml_unary_op_name(static_cast<ggml_unary_op>(sub_op));
    }
    if (op == GGML_OP_GLU && sub_op >= 0) return ggml_glu_op_name(static_cast<ggml_glu_op>(sub_op));
    return ggml_op_name(static_cast<ggml_op>(op));
}

tenon_status host_limits(const tenon_host*, tenon_process_limits* out) {
    if (!out || !TENON_FITS(out, tenon_process_limits, threads)) return TENON_E_INVALID;
    return guard<tenon_status>(TENON_E_NO_HOST_MEMORY, [&] {
        const os::Limits limits = os::process_limits();
        out->cpus = limits.cpus;
        out->memory_total = limits.memory_total;
        out->memory_available = limits.memory_available;
        out->address_space = limits.address_space;
        out->lockable_memory = limits.lockable_memory;
        out->threads = limits.threads;
        return tenon_status{TENON_OK};
    });
}

constexpr tenon_ext_host_limits kHostLimits{sizeof(tenon_ext_host_limits), 0, host_limits};

const void* host_extension(const tenon_host*, const char* id) {
    if (!id) return nullptr;
    if (std::string_view(id) == TENON_EXT_THREADS) return host_threads_extension();
    if (std::string_view(id) == TENON_EXT_LIMITS) return &kHostLimits;
    return nullptr;
}

}  // namespace

const tenon_host* host_table(const std::string& family) {
    // Plugins keep the address until the process ends, so neither map nor tables are destroyed.
    static auto* mutex = new std::mutex;
    static auto* tables = new std::map<std::string, std::unique_ptr<FamilyHost>>;
    const std::lock_guard lock(*mutex);
    auto& table = (*tables)[family];
    if (!table) {
        table = std::make_unique<FamilyHost>();
        table->family = family;
        table->struct_size = sizeof(tenon_host);
        table->abi_major = TENON_ABI_MAJOR;
        table->abi_minor = TENON_ABI_MINOR;
        table->runtime_name = "tenon";
        table->runtime_version = tenon_version();
        table->op_count = GGML_OP_COUNT;
        table->type_count = GGML_TYPE_COUNT;
        table->log = host_log;
        table->alloc = host_alloc;
        table->free = host_free;
        table->now_ns = host_now_ns;
        table->option = host_option;
        table->type_info = host_type_info;
        table->op_name = host_op_name;
        table->extension = host_extension;
    }
    return table.get();
}

}  // namespace tenon
