// tenon/kit/graph_reading.h - who makes what, and who reads it, in a graph that is to be run.
#pragma once

#include "tenon/kit/tag.h"
#include "tenon/plugin.h"
#include "tenon/tensor.h"

namespace tenon::kit {
inline namespace TENON_KIT_TAG {

// Whether running the node is any work.
inline bool computes(const ggml_tensor& node) {
    return !tenon_is_view_op(node.op) && !tenon_is_empty(&node);
}

// What a tensor shows, through all views of it; itself if it is no view. In a graph made by hand
// that may be a circle, which ends where the slow one of two walkers is met.
inline const ggml_tensor& shown_by(const ggml_tensor& view) {
    const ggml_tensor *t = &view, *slow = &view;
    for (bool step = false; t->op != GGML_OP_NONE && tenon_is_view_op(t->op) && t->src[0];
         step = !step) {
        t = t->src[0];
        if (t == slow) break;
        if (step) slow = slow->src[0];
    }
    return *t;
}

// Which of the nodes begin … end-1 made what `source` is, or is a view of. -1: none of them.
inline int64_t maker_of(const ggml_tensor& source, const tenon_graph_view& graph, uint32_t begin,
                        uint32_t end) {
    const ggml_tensor& made = shown_by(source);
    for (uint32_t i = end; i-- > begin;) {
        if (graph.nodes[i] == &made) return i;
    }
    return -1;
}

// How often `reader` has `made` itself among its sources.
inline int32_t uses_by(const ggml_tensor& reader, const ggml_tensor& made) {
    int32_t uses = 0;
    for (const ggml_tensor* src : reader.src) uses += src == &made;
    return uses;
}

// Whether the result of a node may be left unwritten by who computes it together with nodes that
// use it `known_uses` times: it is no part of another tensor, and nobody else reads it or may look
// at it. What nobody reads at all is there to be looked at.
inline bool may_stay_unwritten(const tenon_graph_view& graph, uint32_t node, int32_t known_uses) {
    return graph.use_counts && !graph.nodes[node]->view_src && known_uses > 0 &&
           known_uses == graph.use_counts[node];
}

}  // namespace TENON_KIT_TAG
}  // namespace tenon::kit
