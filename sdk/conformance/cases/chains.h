// Chains: graphs of several nodes that devices like to compute at once. Each is written down as the
// steps it consists of, so that every step can be looked at from outside.
#pragma once

#include <utility>

#include "sdk/conformance/cases/helpers.h"

namespace tenon::conformance {

using Steps = std::vector<ggml_tensor*>;

struct Chain {
    std::string op;  // "CHAIN:…"
    std::string params;
    double max_nmse = 1e-7;
    std::function<Steps(GraphMaker&)> steps;  // in order; the last is the result
};

// The chain as it is.
inline void add_chain(CaseList& list, const Chain& c) {
    list.add({.op = c.op,
              .params = c.params,
              .max_nmse = c.max_nmse,
              .build = [steps = c.steps](GraphMaker& m) { return steps(m).back(); }});
}

// The chain, and once per step and way in which somebody else can look at that step: computing the
// chain at once must not hide it.
void add_watched_chain(CaseList& list, const Chain& c);

// Limits of chains whose steps are rounded to `type`.
inline double chain_limit(ggml_type type) {
    return type == GGML_TYPE_F32 ? 1e-7 : type == GGML_TYPE_F16 ? 5e-5 : 5e-3;
}

void model_chain_cases(CaseList&);    // parts of language models
void product_chain_cases(CaseList&);  // products with what surrounds them
void memory_chain_cases(CaseList&);   // in place, through views, in memory that is used again

}  // namespace tenon::conformance
