/* ggml-impl.h - the one internal that applications reach for: the layout of struct ggml_cgraph.
 * Member order is fixed; programs initialise views of a graph member by member. */
#ifndef GGML_IMPL_H
#define GGML_IMPL_H

#include "ggml.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Open addressing over pointers; `used` has a bit per slot. */
struct ggml_hash_set {
    size_t size; /* slots */
    uint32_t* used;
    struct ggml_tensor** keys;
};

enum ggml_cgraph_eval_order {
    GGML_CGRAPH_EVAL_ORDER_LEFT_TO_RIGHT = 0,
    GGML_CGRAPH_EVAL_ORDER_RIGHT_TO_LEFT = 1,
    GGML_CGRAPH_EVAL_ORDER_COUNT = 2,
    /* A bit beside the order: something could not be added, the graph must not be computed. */
    TENON_CGRAPH_INCOMPLETE = 1 << 8
};

struct ggml_cgraph {
    int size; /* capacity of nodes and of leafs; 0 for a view of another graph */
    int n_nodes;
    int n_leafs;
    struct ggml_tensor** nodes;     /* tensors that are computed, in order */
    struct ggml_tensor** grads;     /* by slot of visited_hash_set; NULL without gradients */
    struct ggml_tensor** grad_accs; /* likewise */
    struct ggml_tensor** leafs;     /* tensors with data */
    int32_t* use_counts;            /* by slot of visited_hash_set: how many nodes read the tensor */
    struct ggml_hash_set visited_hash_set;
    enum ggml_cgraph_eval_order order;
    uint64_t uid; /* equal non-zero values: same graph, same tensors */
};

#ifdef __cplusplus
}
#endif
#endif /* GGML_IMPL_H */
