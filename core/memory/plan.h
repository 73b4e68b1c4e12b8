// The plan of memory for a graph: where each of its tensors lies, with the memory of dead ones used
// again.
#pragma once

#include <span>
#include <vector>

#include "core/device/device.h"
#include "core/memory/lifetimes.h"
#include "core/memory/offsets.h"

namespace tenon {

// Where one tensor of a GraphImage lies.
struct TensorPlace {
    uint32_t arena = UINT32_MAX;  // UINT32_MAX: it needs no place
    OffsetAllocator::Place place;
    size_t size = 0;                   // bytes, as the buffer type asked for
    uint32_t in_place_of = kNoTensor;  // whose memory it took over: their layouts must be equal
    bool external = false;             // had memory already when the plan was made

    bool planned() const { return arena != UINT32_MAX; }
};

struct MemoryPlan {
    bool valid = false;
    uint64_t structure = 0;                   // of the graph it was made for
    std::vector<TensorPlace> places;          // by tensor
    std::vector<std::vector<size_t>> chunks;  // bytes needed, by arena and chunk
};

// Memory of one buffer type.
struct PlanArena {
    ggml_backend_buffer_type* type = nullptr;
    OffsetAllocator offsets;
};

// Which arena leafs and nodes take memory from; NULL: the first.
struct SlotMap {
    std::span<const uint32_t> arena_of_slot;
    const int* node_slots = nullptr;  // one per node of the graph
    const int* leaf_slots = nullptr;  // one per leaf
};

// Plans memory for the image's tensors that have none. Needs no allocation for a graph no larger
// than one before.
class MemoryPlanner {
public:
    Result<void> plan(const GraphImage& image, std::span<PlanArena> arenas, const SlotMap& slots,
                      MemoryPlan& out);

private:
    struct State {
        int32_t uses = 0, views = 0;
        bool owns = false;  // its place may be given back or taken over
    };

    uint32_t arena_of(const int* slots, size_t i) const;
    Result<void> assign(uint32_t tensor, uint32_t arena);
    Result<void> assign_inputs();
    Result<void> assign_node(size_t i);
    bool take_over_source(size_t i);
    bool take_over(uint32_t tensor, uint32_t from, uint32_t like);
    void release_sources(size_t i);
    void release(uint32_t tensor);
    bool needs_place(uint32_t tensor) const;
    bool is_output(uint32_t tensor) const;

    const GraphImage* image_ = nullptr;
    std::span<PlanArena> arenas_;
    SlotMap slots_;
    std::vector<State> states_;
    MemoryPlan* plan_ = nullptr;
};

// Whether the plan still serves the graph: same structure, no tensor larger than planned, memory
// taken over only between tensors of equal layout.
bool plan_fits(const MemoryPlan& plan, const GraphImage& image, std::span<const PlanArena> arenas);

}  // namespace tenon
