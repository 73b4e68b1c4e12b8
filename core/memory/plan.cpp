// Online planning in execution order: a tensor gets its place when it is computed, and gives it
// back after its last reader.

#include "core/memory/plan.h"

#include <algorithm>

#include "core/ops/op_table.h"
#include "core/tensor/shape.h"

namespace tenon {
namespace {

bool has_memory(const ggml_tensor& tensor) { return tensor.data || tensor.buffer; }

bool can_in_place(const ggml_tensor& node, const ggml_tensor& source) {
    const OpRow* row = op_row(node.op);
    if (!row || !(row->traits & kInPlaceOk)) return false;
    return !(row->traits & kInPlaceFirst) || node.src[0] == &source;
}

}  // namespace

bool MemoryPlanner::needs_place(uint32_t tensor) const {
    return !plan_->places[tensor].external && !plan_->places[tensor].planned() &&
           image_->root(tensor) == kNoTensor;
}

bool MemoryPlanner::is_output(uint32_t tensor) const {
    return image_->tensors()[tensor]->flags & GGML_TENSOR_FLAG_OUTPUT;
}

uint32_t MemoryPlanner::arena_of(const int* slots, size_t i) const {
    return slots_.arena_of_slot[slots ? static_cast<size_t>(slots[i]) : 0];
}

Result<void> MemoryPlanner::plan(const GraphImage& image, std::span<PlanArena> arenas,
                                 const SlotMap& slots, MemoryPlan& out) {
    image_ = &image;
    arenas_ = arenas;
    slots_ = slots;
    plan_ = &out;
    out.valid = false;
    out.structure = image.structure();
    out.places.assign(image.tensors().size(), TensorPlace{});
    states_.assign(image.tensors().size(), State{});
    for (PlanArena& arena : arenas) arena.offsets.clear();
    for (size_t i = 0; i < out.places.size(); ++i) {
        out.places[i].external = has_memory(*image.tensors()[i]);
    }

    // Leafs all exist before the first node runs, used or not.
    for (size_t i = 0; i < image.n_leafs(); ++i) {
        if (!needs_place(image.leaf(i))) continue;
        if (auto ok = assign(image.leaf(i), arena_of(slots.leaf_slots, i)); !ok) return ok;
    }
    if (auto ok = assign_inputs(); !ok) return ok;
    for (size_t i = 0; i < image.n_nodes(); ++i) {
        if (auto ok = assign_node(i); !ok) return ok;
    }

    out.chunks.resize(arenas.size());
    for (size_t a = 0; a < arenas.size(); ++a) {
        out.chunks[a].clear();
        for (size_t c = 0; c < arenas[a].offsets.n_chunks(); ++c) {
            out.chunks[a].push_back(arenas[a].offsets.high_water(c));
        }
    }
    out.valid = true;
    return {};
}

Result<void> MemoryPlanner::assign(uint32_t tensor, uint32_t arena) {
    TensorPlace& place = plan_->places[tensor];
    place.size = alloc_size(arenas_[arena].type, image_->tensors()[tensor]);
    if (!arenas_[arena].offsets.allocate(place.size, &place.place)) {
        return fail(TENON_E_NO_DEVICE_MEMORY, "tensor '%s' of %zu bytes is too large",
                    image_->tensors()[tensor]->name, place.size);
    }
    place.arena = arena;
    states_[tensor].owns = true;
    return {};
}

// Counts readers and views; places tensors flagged INPUT: the host writes them before the graph
// runs, so they must not share memory with anything computed earlier.
Result<void> MemoryPlanner::assign_inputs() {
    const auto place_input = [&](uint32_t tensor, uint32_t arena) -> Result<void> {
        const bool is_input = image_->tensors()[tensor]->flags & GGML_TENSOR_FLAG_INPUT;
        return is_input && needs_place(tensor) ? assign(tensor, arena) : Result<void>{};
    };
    for (size_t i = 0; i < image_->n_nodes(); ++i) {
        const uint32_t arena = arena_of(slots_.node_slots, i);
        if (auto ok = place_input(image_->node(i), arena); !ok) return ok;
        for (const uint32_t source : image_->sources(i)) {
            ++states_[source].uses;
            if (auto ok = place_input(source, arena); !ok) return ok;
        }
    }
    for (uint32_t i = 0; i < states_.size(); ++i) {
        const uint32_t root = image_->root(i);
        // A NONE view that nobody reads is a marker of order: it keeps nothing alive.
        const bool is_marker = image_->tensors()[i]->op == GGML_OP_NONE && states_[i].uses == 0;
        if (root != kNoTensor && !is_marker) ++states_[root].views;
    }
    return {};
}

Result<void> MemoryPlanner::assign_node(size_t i) {
    const uint32_t arena = arena_of(slots_.node_slots, i);
    const auto place = [&](uint32_t tensor) -> Result<void> {
        return needs_place(tensor) ? assign(tensor, arena) : Result<void>{};
    };
    // Leafs that are in no list of the graph, and tensors only views know.
    for (const uint32_t source : image_->sources(i)) {
        const uint32_t root = image_->root(source);
        if (auto ok = place(root == kNoTensor ? source : root); !ok) return ok;
    }
    const uint32_t node = image_->node(i);
    const uint32_t root = image_->root(node);
    if (root != kNoTensor) {
        if (auto ok = place(root); !ok) return ok;
    } else if (needs_place(node) && !take_over_source(i)) {
        if (auto ok = assign(node, arena); !ok) return ok;
    }
    release_sources(i);
    return {};
}

// Puts the node where a source lies that nobody else reads: the first one that allows it.
bool MemoryPlanner::take_over_source(size_t i) {
    const uint32_t node = image_->node(i);
    const uint32_t arena = arena_of(slots_.node_slots, i);
    for (const uint32_t source : image_->sources(i)) {
        if (!can_in_place(*image_->tensors()[node], *image_->tensors()[source])) continue;
        if (states_[source].uses != 1 || states_[source].views != 0 || is_output(source)) continue;
        if (!same_layout(*image_->tensors()[source], *image_->tensors()[node])) continue;
        const uint32_t root = image_->root(source);
        const uint32_t owner = root == kNoTensor ? source : root;
        if (!states_[owner].owns || plan_->places[owner].arena != arena) continue;
        if (root != kNoTensor) {
            const bool last = states_[root].uses == 0 && states_[root].views == 1;
            if (!last || is_output(root) || image_->tensors()[source]->view_offs != 0) continue;
        }
        if (take_over(node, owner, source)) return true;
    }
    return false;
}

bool MemoryPlanner::take_over(uint32_t tensor, uint32_t from, uint32_t like) {
    const TensorPlace& old = plan_->places[from];
    PlanArena& arena = arenas_[old.arena];
    // What an op needs behind its result may exceed what its source has.
    const size_t size = alloc_size(arena.type, image_->tensors()[tensor]);
    size_t have, need;
    if (!arena.offsets.rounded(old.size, &have) || !arena.offsets.rounded(size, &need))
        return false;
    if (need > have) return false;

    TensorPlace& place = plan_->places[tensor];
    place.arena = old.arena;
    place.place = old.place;
    place.size = size;
    place.in_place_of = like;
    states_[from].owns = false;
    states_[tensor].owns = true;
    if (have > need) arena.offsets.free({old.place.chunk, old.place.offset + need}, have - need);
    return true;
}

void MemoryPlanner::release_sources(size_t i) {
    for (const uint32_t source : image_->sources(i)) {
        State& state = states_[source];
        --state.uses;
        if (state.uses != 0 || state.views != 0) continue;
        const uint32_t root = image_->root(source);
        if (root == kNoTensor) {
            release(source);
            continue;
        }
        --states_[root].views;
        if (states_[root].views == 0 && states_[root].uses == 0) release(root);
    }
}

void MemoryPlanner::release(uint32_t tensor) {
    if (!states_[tensor].owns || is_output(tensor)) return;
    states_[tensor].owns = false;
    const TensorPlace& place = plan_->places[tensor];
    arenas_[place.arena].offsets.free(place.place, place.size);
}

bool plan_fits(const MemoryPlan& plan, const GraphImage& image, std::span<const PlanArena> arenas) {
    const auto tensors = image.tensors();
    if (!plan.valid || plan.structure != image.structure() ||
        plan.places.size() != tensors.size()) {
        return false;
    }
    for (size_t i = 0; i < tensors.size(); ++i) {
        const ggml_tensor& tensor = *tensors[i];
        const TensorPlace& place = plan.places[i];
        if (has_memory(tensor) || tensor.view_src) continue;
        if (!place.planned()) return false;
        if (alloc_size(arenas[place.arena].type, &tensor) > place.size) return false;
        if (place.in_place_of == kNoTensor) continue;
        const ggml_tensor& before = *tensors[place.in_place_of];
        if (!same_layout(tensor, before) || (before.view_src && before.view_offs != 0))
            return false;
    }
    return true;
}

}  // namespace tenon
