// ggml_gallocr: reserves buffers for a graph's plan of memory, and gives the tensors of a graph
// their addresses.

#include <algorithm>
#include <memory>
#include <numeric>

#include "core/base/log.h"
#include "core/graph/graph.h"
#include "core/memory/plan.h"

// A slot is what callers count in; slots of one buffer type share an arena.
struct ggml_gallocr {
    struct BufferFree {
        void operator()(ggml_backend_buffer* buffer) const { ggml_backend_buffer_free(buffer); }
    };
    using Chunks = std::vector<std::unique_ptr<ggml_backend_buffer, BufferFree>>;

    std::vector<uint32_t> arena_of_slot;
    std::vector<tenon::PlanArena> arenas;
    std::vector<Chunks> buffers;  // by arena
    tenon::GraphImage image;
    tenon::MemoryPlanner planner;
    tenon::MemoryPlan plan;      // of the graph reserved last
    tenon::MemoryPlan measured;  // of size queries, which leave the plan alone
};

namespace tenon {
namespace {

Result<ggml_gallocr*> make(ggml_backend_buffer_type_t* bufts, int n) {
    if (!bufts || n <= 0) return fail(TENON_E_INVALID, "a graph allocator of %d buffers", n);
    auto galloc = std::make_unique<ggml_gallocr>();
    for (int i = 0; i < n; ++i) {
        if (!bufts[i]) return fail(TENON_E_INVALID, "buffer type %d of %d is null", i, n);
        const auto same = std::find_if(galloc->arenas.begin(), galloc->arenas.end(),
                                       [&](const auto& arena) { return arena.type == bufts[i]; });
        galloc->arena_of_slot.push_back(static_cast<uint32_t>(same - galloc->arenas.begin()));
        if (same != galloc->arenas.end()) continue;
        galloc->arenas.push_back(
            {bufts[i], OffsetAllocator(bufts[i]->alignment, bufts[i]->max_size)});
    }
    galloc->buffers.resize(galloc->arenas.size());
    return galloc.release();
}

Result<void> check_slots(const int* slots, int n, size_t n_slots, const char* what) {
    for (int i = 0; slots && i < n; ++i) {
        if (slots[i] < 0 || static_cast<size_t>(slots[i]) >= n_slots) {
            return fail(TENON_E_INVALID, "%s %d wants buffer %d of %zu", what, i, slots[i],
                        n_slots);
        }
    }
    return {};
}

Result<void> read_graph(ggml_gallocr* galloc, const ggml_cgraph* graph) {
    if (!galloc || !graph) return fail(TENON_E_INVALID, "graph allocator or graph is null");
    if (is_incomplete(*graph)) {
        return fail(TENON_E_INVALID, "graph is incomplete: something could not be added to it");
    }
    return galloc->image.build(*graph);
}

Result<void> plan_into(ggml_gallocr* galloc, const ggml_cgraph* graph, const int* node_slots,
                       const int* leaf_slots, MemoryPlan ggml_gallocr::*plan) {
    if (auto ok = read_graph(galloc, graph); !ok) return ok;
    const size_t n = galloc->arena_of_slot.size();
    if (auto ok = check_slots(node_slots, graph->n_nodes, n, "node"); !ok) return ok;
    if (auto ok = check_slots(leaf_slots, graph->n_leafs, n, "leaf"); !ok) return ok;
    const SlotMap slots{galloc->arena_of_slot, node_slots, leaf_slots};
    return galloc->planner.plan(galloc->image, galloc->arenas, slots, galloc->*plan);
}

bool is_large_enough(const ggml_gallocr::Chunks& have, const std::vector<size_t>& need) {
    if (have.size() < need.size()) return false;
    for (size_t c = 0; c < need.size(); ++c) {
        if (!have[c] || have[c]->head.size < need[c]) return false;
    }
    return true;
}

size_t total(const ggml_gallocr::Chunks& chunks) {
    size_t bytes = 0;
    for (const auto& chunk : chunks) bytes += chunk ? chunk->head.size : 0;
    return bytes;
}

// Not left to destructors: freeing calls the plugin, which may end the thread.
void free_all(ggml_gallocr::Chunks& chunks) {
    while (!chunks.empty()) {
        ggml_backend_buffer* buffer = chunks.back().release();
        chunks.pop_back();
        ggml_backend_buffer_free(buffer);
    }
}

// Buffers for the plan. They never shrink; when one is too small, all of its arena are made anew,
// the old ones freed first so that both need not fit. On failure nothing is reserved.
Result<void> provide_buffers(ggml_gallocr& galloc) {
    for (size_t a = 0; a < galloc.arenas.size(); ++a) {
        ggml_gallocr::Chunks& chunks = galloc.buffers[a];
        const std::vector<size_t>& need = galloc.plan.chunks[a];
        if (is_large_enough(chunks, need)) continue;
        if (!chunks.empty() && log_wants(GGML_LOG_LEVEL_DEBUG)) {
            log(GGML_LOG_LEVEL_DEBUG, "graph allocator: %s: grows from %zu to %zu bytes",
                galloc.arenas[a].type->name.c_str(), total(chunks),
                std::accumulate(need.begin(), need.end(), size_t{0}));
        }
        free_all(chunks);
        chunks.reserve(need.size());
        for (const size_t bytes : need) {
            ggml_backend_buffer* buffer =
                ggml_backend_buft_alloc_buffer(galloc.arenas[a].type, bytes);
            if (!buffer) {
                galloc.plan.valid = false;
                free_all(chunks);
                return fail(TENON_E_NO_DEVICE_MEMORY, "%s: no memory for a graph's %zu bytes",
                            galloc.arenas[a].type->name.c_str(), bytes);
            }
            chunks.emplace_back(buffer);
            ggml_backend_buffer_set_usage(buffer, GGML_BACKEND_BUFFER_USAGE_COMPUTE);
        }
    }
    return {};
}

Result<void> reserve(ggml_gallocr* galloc, const ggml_cgraph* graph, const int* node_slots,
                     const int* leaf_slots) {
    auto planned = plan_into(galloc, graph, node_slots, leaf_slots, &ggml_gallocr::plan);
    return planned ? provide_buffers(*galloc) : planned;
}

Error placing_error(const ggml_tensor& tensor) {
    return fail(TENON_E_INTERNAL, "tensor '%s' could not be given its memory", tensor.name);
}

// Addresses of the plan. Tensors come after what they depend on, so a view's root has its own.
Result<void> place_tensors(ggml_gallocr& galloc) {
    for (const auto& chunks : galloc.buffers) {
        for (const auto& chunk : chunks) ggml_backend_buffer_reset(chunk.get());
    }
    const auto tensors = galloc.image.tensors();
    for (size_t i = 0; i < tensors.size(); ++i) {
        ggml_tensor& tensor = *tensors[i];
        if (tensor.view_src) {
            if (tensor.buffer || !tensor.view_src->buffer) continue;
            if (ggml_backend_view_init(&tensor) != GGML_STATUS_SUCCESS)
                return placing_error(tensor);
            continue;
        }
        const TensorPlace& place = galloc.plan.places[i];
        if (tensor.data || tensor.buffer || !place.planned()) continue;
        ggml_backend_buffer* buffer = galloc.buffers[place.arena][place.place.chunk].get();
        void* address = static_cast<char*>(buffer->head.base) + place.place.offset;
        if (ggml_backend_tensor_alloc(buffer, &tensor, address) != GGML_STATUS_SUCCESS) {
            return placing_error(tensor);
        }
    }
    return {};
}

Result<bool> alloc_graph(ggml_gallocr* galloc, const ggml_cgraph* graph) {
    if (auto ok = read_graph(galloc, graph); !ok) return ok.error();
    if (!plan_fits(galloc->plan, galloc->image, galloc->arenas)) {
        // With several slots only the caller knows which tensor belongs where.
        if (galloc->arena_of_slot.size() > 1) return false;
        if (auto ok = reserve(galloc, graph, nullptr, nullptr); !ok) return ok.error();
    } else if (auto ok = provide_buffers(*galloc); !ok) {
        return ok.error();
    }
    if (auto ok = place_tensors(*galloc); !ok) return ok.error();
    return true;
}

// The first slot of an arena reports it; the others would count it twice.
bool reports_arena(const ggml_gallocr& galloc, size_t slot) {
    const auto& map = galloc.arena_of_slot;
    return static_cast<size_t>(std::find(map.begin(), map.end(), map[slot]) - map.begin()) == slot;
}

}  // namespace
}  // namespace tenon

using namespace tenon;

extern "C" {

ggml_gallocr_t ggml_gallocr_new(ggml_backend_buffer_type_t buft) {
    return ggml_gallocr_new_n(&buft, 1);
}

ggml_gallocr_t ggml_gallocr_new_n(ggml_backend_buffer_type_t* bufts, int n_bufs) {
    return guard<ggml_gallocr_t>(nullptr, [&] { return make(bufts, n_bufs); });
}

void ggml_gallocr_free(ggml_gallocr_t galloc) {
    if (!galloc) return;
    guard_void([&] {
        const std::unique_ptr<ggml_gallocr> owned(galloc);
        for (auto& chunks : galloc->buffers) free_all(chunks);
    });
}

bool ggml_gallocr_reserve(ggml_gallocr_t galloc, ggml_cgraph* graph) {
    return ggml_gallocr_reserve_n(galloc, graph, nullptr, nullptr);
}

bool ggml_gallocr_reserve_n(ggml_gallocr_t galloc, ggml_cgraph* graph, const int* node_buffer_ids,
                            const int* leaf_buffer_ids) {
    return guard<bool>(false, [&]() -> Result<bool> {
        auto ok = reserve(galloc, graph, node_buffer_ids, leaf_buffer_ids);
        if (!ok) return ok.error();
        return true;
    });
}

void ggml_gallocr_reserve_n_size(ggml_gallocr_t galloc, ggml_cgraph* graph,
                                 const int* node_buffer_ids, const int* leaf_buffer_ids,
                                 size_t* sizes) {
    if (!sizes || !galloc) return;
    std::fill_n(sizes, galloc->arena_of_slot.size(), 0);
    guard_void([&]() -> Result<void> {
        auto ok =
            plan_into(galloc, graph, node_buffer_ids, leaf_buffer_ids, &ggml_gallocr::measured);
        if (!ok) return ok;
        for (size_t i = 0; i < galloc->arena_of_slot.size(); ++i) {
            if (!reports_arena(*galloc, i)) continue;
            for (const size_t bytes : galloc->measured.chunks[galloc->arena_of_slot[i]]) {
                sizes[i] += bytes;
            }
        }
        return {};
    });
}

bool ggml_gallocr_alloc_graph(ggml_gallocr_t galloc, ggml_cgraph* graph) {
    return guard<bool>(false, [&] { return alloc_graph(galloc, graph); });
}

size_t ggml_gallocr_get_buffer_size(ggml_gallocr_t galloc, int buffer_id) {
    return guard<size_t>(0, [&]() -> Result<size_t> {
        if (!galloc || buffer_id < 0 ||
            static_cast<size_t>(buffer_id) >= galloc->arena_of_slot.size()) {
            return fail(TENON_E_INVALID, "buffer %d of %zu", buffer_id,
                        galloc ? galloc->arena_of_slot.size() : 0);
        }
        const auto slot = static_cast<size_t>(buffer_id);
        if (!reports_arena(*galloc, slot)) return size_t{0};
        return total(galloc->buffers[galloc->arena_of_slot[slot]]);
    });
}

}  // extern "C"
