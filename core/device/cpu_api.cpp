// ggml-cpu.h: the CPU device, graphs computed without naming a backend, and what the loaded CPU
// plugin can do.

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string_view>

#include "core/base/log.h"
#include "core/device/plugin_adapter.h"
#include "core/device/plugin_checks.h"
#include "core/stream/stream.h"
#include "core/tensor/types.h"
#include "ggml-cpu.h"
#include "tenon/ext/cpu.h"

namespace tenon {
namespace {

constexpr size_t kWorkAlignment = 64;  // bytes kept to align the caller's work memory

// Streams for computations without a backend; each is used by one thread at a time.
class StreamCache {
public:
    Result<ggml_backend*> take() {
        ggml_backend_dev_t device = cpu_device();
        if (!device) return fail(TENON_E_NOT_FOUND, "no CPU plugin is loaded");
        if (ggml_backend* idle = take_idle(*device)) return idle;
        auto stream = open_stream(*device, nullptr);
        if (stream) {
            const std::lock_guard lock(mutex_);
            free_.reserve(++n_open_);  // giving back must not fail
        }
        // It is none of the application's objects and must not keep it from unloading the plugin.
        if (stream) device->live_objects.fetch_sub(1, std::memory_order_release);
        return stream;
    }
    void give_back(ggml_backend* stream) {
        const std::lock_guard lock(mutex_);
        free_.push_back(stream);
    }
    // Closes the idle streams of a device that goes away.
    void drop(const ggml_backend_device& device) {
        while (ggml_backend* stream = take_idle(device)) {
            {
                const std::lock_guard lock(mutex_);
                --n_open_;
            }
            stream->device->live_objects.fetch_add(1, std::memory_order_relaxed);
            delete stream;
        }
    }

private:
    ggml_backend* take_idle(const ggml_backend_device& device) {
        const std::lock_guard lock(mutex_);
        const auto it = std::find_if(free_.begin(), free_.end(),
                                     [&](const auto* stream) { return stream->device == &device; });
        if (it == free_.end()) return nullptr;
        ggml_backend* stream = *it;
        free_.erase(it);
        return stream;
    }

    std::mutex mutex_;
    std::vector<ggml_backend*> free_;
    size_t n_open_ = 0;
};

StreamCache& streams() {
    static StreamCache* cache =
        new StreamCache;  // never destroyed: plugins are not touched at exit
    return *cache;
}

// A stream for the duration of a call.
class BorrowedStream {
public:
    BorrowedStream() : stream_(streams().take()) {}
    ~BorrowedStream() {
        if (stream_) streams().give_back(*stream_);
    }
    BorrowedStream(const BorrowedStream&) = delete;
    BorrowedStream& operator=(const BorrowedStream&) = delete;
    Result<ggml_backend*>& get() { return stream_; }

private:
    Result<ggml_backend*> stream_;
};

int threads_of(int wanted, const ggml_threadpool* pool) {
    const int most = pool ? pool->team->size() : GGML_MAX_N_THREADS;
    if (wanted <= 0) return pool ? most : default_threads();
    return std::min(wanted, most);
}

Result<ggml_cplan> plan_graph(const ggml_cgraph* graph, int n_threads, ggml_threadpool* pool) {
    auto list = nodes_of(graph);
    if (!list) return list.error();
    BorrowedStream stream;
    if (!stream.get()) return stream.get().error();
    list->uid = 0;
    // The plan is made before the graph's tensors need memory, so only nodes are looked at.
    auto workspace = workspace_of_nodes(**stream.get(), *list);
    if (!workspace) return workspace.error();
    ggml_cplan plan{};
    plan.work_size = *workspace > 0 ? *workspace + kWorkAlignment : 0;
    plan.n_threads = threads_of(n_threads, pool);
    plan.threadpool = pool;
    return plan;
}

Result<void> compute(const ggml_cgraph* graph, const ggml_cplan* plan) {
    if (!plan) return fail(TENON_E_INVALID, "plan is null");
    if (plan->n_threads <= 0) {
        return fail(TENON_E_INVALID, "a plan for %d threads", plan->n_threads);
    }
    if (plan->work_size > 0 && !plan->work_data) {
        return fail(TENON_E_INVALID, "plan wants %zu bytes of work memory, work_data is null",
                    plan->work_size);
    }
    auto list = nodes_of(graph);
    if (!list) return list.error();
    BorrowedStream stream;
    if (!stream.get()) return stream.get().error();
    RunOptions options;
    options.n_threads = plan->n_threads;
    options.pool = plan->threadpool;
    options.abort_callback = plan->abort_callback;
    options.abort_data = plan->abort_callback_data;
    options.reference = plan->use_ref;
    options.workspace = plan->work_data;
    options.workspace_size = plan->work_size;
    options.has_workspace = true;
    return run(**stream.get(), *list, options);
}

Result<void> compute_with_context(ggml_context* ctx, ggml_cgraph* graph, int n_threads) {
    if (!ctx) return fail(TENON_E_INVALID, "context is null");
    auto plan = plan_graph(graph, n_threads, nullptr);
    if (!plan) return plan.error();
    if (plan->work_size > 0) {
        plan->work_data = static_cast<uint8_t*>(ggml_new_buffer(ctx, plan->work_size));
        if (!plan->work_data) {
            return fail(TENON_E_NO_HOST_MEMORY, "context has no room for %zu bytes of work memory",
                        plan->work_size);
        }
    }
    return compute(graph, &*plan);
}

// Applies a setting to a stream of the CPU plugin; other backends have none of these.
template <class Apply>
void with_cpu(ggml_backend_t backend, Apply&& apply) {
    guard_void([&]() -> Result<void> {
        if (!ggml_backend_is_cpu(backend)) {
            return fail(TENON_E_INVALID, "backend '%s' is not the CPU's",
                        ggml_backend_name(backend));
        }
        apply(*backend);
        return {};
    });
}

// Value of a feature of the loaded CPU plugin, 0 when it has none of that name.
int feature(const char* name) {
    return guard<int>(0, [&]() -> int {
        const ggml_backend_dev_t device = cpu_device();
        if (!device) return 0;
        for (const ggml_backend_feature& item : device->reg->features) {
            if (item.name && std::string_view(item.name) == name) return std::atoi(item.value);
        }
        return 0;
    });
}

int has(const char* name) { return feature(name) != 0; }

constexpr uint32_t kMaxTypes = 4096;  // of a plugin that knows later ones
constexpr int32_t kMaxDotRows = 16;   // of one call

struct CpuTraits {
    ggml_type_traits_cpu rows[GGML_TYPE_COUNT] = {};

    explicit CpuTraits(const ggml_backend_reg& reg) {
        const auto* dot =
            static_cast<const tenon_ext_cpu_dot*>(plugin_extension(reg, TENON_EXT_CPU_DOT));
        if (!TENON_HAS(dot, tenon_ext_cpu_dot, rows)) return;
        if (dot->n > kMaxTypes || !is_table_address(dot->rows)) {
            log(GGML_LOG_LEVEL_WARN, "plugin '%s': %s: %u rows at %p, at most %u; left out",
                reg.name.c_str(), TENON_EXT_CPU_DOT, dot->n, static_cast<const void*>(dot->rows),
                kMaxTypes);
            return;
        }
        for (uint32_t i = 0; i < std::min<uint32_t>(dot->n, GGML_TYPE_COUNT); ++i) {
            const tenon_cpu_dot_row& row = dot->rows[i];
            const bool sound = is_type_number(static_cast<ggml_type>(row.vec_dot_type)) &&
                               row.nrows >= 0 && row.nrows <= kMaxDotRows;
            if (!sound) continue;
            rows[i] = {row.from_float, row.vec_dot, static_cast<ggml_type>(row.vec_dot_type),
                       row.nrows};
        }
    }
};

// Of the loaded CPU plugin; the address stays valid. Without a plugin, empty rows.
const ggml_type_traits_cpu* traits_of(ggml_type type) {
    static const ggml_type_traits_cpu kNone{};
    static auto* mutex = new std::mutex;
    static auto* known = new std::map<const ggml_backend_reg*, std::unique_ptr<CpuTraits>>;
    if (!is_type_number(type)) return nullptr;
    const ggml_backend_dev_t device = cpu_device();
    if (!device) return &kNone;
    const std::lock_guard lock(*mutex);
    auto& traits = (*known)[device->reg];
    if (!traits) traits = std::make_unique<CpuTraits>(*device->reg);
    return &traits->rows[type];
}

}  // namespace

void drop_cached_streams(const ggml_backend_device& device) { streams().drop(device); }

}  // namespace tenon

using namespace tenon;

extern "C" {

ggml_cplan ggml_graph_plan(const ggml_cgraph* cgraph, int n_threads, ggml_threadpool* threadpool) {
    ggml_cplan plan{};
    plan.n_threads = threads_of(n_threads, threadpool);
    plan.threadpool = threadpool;
    guard_void([&]() -> Result<void> {
        auto made = plan_graph(cgraph, n_threads, threadpool);
        if (!made) return made.error();
        plan = *made;
        return {};
    });
    return plan;
}

ggml_status ggml_graph_compute(ggml_cgraph* cgraph, ggml_cplan* cplan) {
    return guard_status([&] { return compute(cgraph, cplan); });
}

ggml_status ggml_graph_compute_with_ctx(ggml_context* ctx, ggml_cgraph* cgraph, int n_threads) {
    return guard_status([&] { return compute_with_context(ctx, cgraph, n_threads); });
}

void ggml_cpu_init(void) {
    guard_void([] { (void)cpu_device(); });
}

ggml_backend_reg_t ggml_backend_cpu_reg(void) {
    return guard<ggml_backend_reg_t>(nullptr, []() -> Result<ggml_backend_reg_t> {
        const ggml_backend_dev_t device = cpu_device();
        if (!device) return fail(TENON_E_NOT_FOUND, "no CPU plugin is loaded");
        return device->reg;
    });
}

ggml_backend_t ggml_backend_cpu_init(void) {
    return guard<ggml_backend_t>(nullptr, []() -> Result<ggml_backend_t> {
        const ggml_backend_dev_t device = cpu_device();
        if (!device) return fail(TENON_E_NOT_FOUND, "no CPU plugin is loaded");
        return open_stream(*device, nullptr);
    });
}

bool ggml_backend_is_cpu(ggml_backend_t backend) {
    return backend && backend->device->type() == GGML_BACKEND_DEVICE_TYPE_CPU &&
           backend->device->reg->is_cpu();
}

void ggml_backend_cpu_set_n_threads(ggml_backend_t backend, int n_threads) {
    with_cpu(backend, [&](ggml_backend& stream) { stream.n_threads = n_threads; });
}

void ggml_backend_cpu_set_threadpool(ggml_backend_t backend, ggml_threadpool_t threadpool) {
    with_cpu(backend, [&](ggml_backend& stream) {
        ggml_threadpool* before = stream.threadpool.exchange(threadpool);
        if (before && before != threadpool) pause_if_alive(before);
    });
}

void ggml_backend_cpu_set_abort_callback(ggml_backend_t backend, ggml_abort_callback callback,
                                         void* data) {
    with_cpu(backend, [&](ggml_backend& stream) { stream.abort_callback.set(callback, data); });
}

void ggml_backend_cpu_set_use_ref(ggml_backend_t backend, bool use_ref) {
    with_cpu(backend, [&](ggml_backend& stream) { stream.use_ref = use_ref; });
}

const ggml_type_traits_cpu* ggml_get_type_traits_cpu(ggml_type type) {
    return guard<const ggml_type_traits_cpu*>(nullptr, [&] { return traits_of(type); });
}

int ggml_cpu_has_sse3(void) { return has("SSE3"); }
int ggml_cpu_has_ssse3(void) { return has("SSSE3"); }
int ggml_cpu_has_avx(void) { return has("AVX"); }
int ggml_cpu_has_avx_vnni(void) { return has("AVX_VNNI"); }
int ggml_cpu_has_avx2(void) { return has("AVX2"); }
int ggml_cpu_has_bmi2(void) { return has("BMI2"); }
int ggml_cpu_has_f16c(void) { return has("F16C"); }
int ggml_cpu_has_fma(void) { return has("FMA"); }
int ggml_cpu_has_avx512(void) { return has("AVX512"); }
int ggml_cpu_has_avx512_vbmi(void) { return has("AVX512_VBMI"); }
int ggml_cpu_has_avx512_vnni(void) { return has("AVX512_VNNI"); }
int ggml_cpu_has_avx512_bf16(void) { return has("AVX512_BF16"); }
int ggml_cpu_has_amx_int8(void) { return has("AMX_INT8"); }
int ggml_cpu_has_neon(void) { return has("NEON"); }
int ggml_cpu_has_arm_fma(void) { return has("ARM_FMA"); }
int ggml_cpu_has_fp16_va(void) { return has("FP16_VA"); }
int ggml_cpu_has_dotprod(void) { return has("DOTPROD"); }
int ggml_cpu_has_matmul_int8(void) { return has("MATMUL_INT8"); }
int ggml_cpu_has_sve(void) { return has("SVE"); }
int ggml_cpu_get_sve_cnt(void) { return feature("SVE_CNT"); }
int ggml_cpu_has_sme(void) { return has("SME"); }
int ggml_cpu_has_sme2(void) { return has("SME2"); }
int ggml_cpu_has_riscv_v(void) { return has("RISCV_V"); }
int ggml_cpu_get_rvv_vlen(void) { return feature("RVV_VLEN"); }
int ggml_cpu_has_vsx(void) { return has("VSX"); }
int ggml_cpu_has_vxe(void) { return has("VXE"); }
int ggml_cpu_has_wasm_simd(void) { return has("WASM_SIMD"); }
int ggml_cpu_has_llamafile(void) { return has("LLAMAFILE"); }

}  // extern "C"
