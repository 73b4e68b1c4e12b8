// What the discrete test plugin computes: MUL_MAT and ADD of f32 tensors with dense rows.
#pragma once

#include "tests/discrete/memory.h"

namespace tenon::discrete {

constexpr double kFlopsPerSecond = 1e9;
constexpr double kBytesPerSecond = 4e9;
constexpr uint64_t kLaunchNs = 2000;

// Support, reason and cost of a node.
void judge(const ggml_tensor& node, tenon_op_verdict& verdict, bool support_only);

// Runs a node that judge() accepted.
void compute(const State& state, const ggml_tensor& node);

}  // namespace tenon::discrete
