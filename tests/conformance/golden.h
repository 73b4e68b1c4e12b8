// Recorded graphs and blocks with expected values: reading the files, and running them on a device.
// Formats: tests/golden/ops/README.md and tests/golden/types/README.md.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ggml-backend.h"

namespace tenon::conformance {

enum class Outcome { kPassed, kFailed, kSkipped };

struct GoldenResult {
    Outcome outcome = Outcome::kPassed;
    std::string name,
        params;           // "RMS_NORM", "type=f32,ne=[64,5,4,3]"; of a type: its name and the case
    std::string message;  // NMSE and limit, which element; or why it was skipped
};

// The message of a graph that was skipped because what was recorded for its output is not what the
// op computes.
inline constexpr char kWrongRecord[] = "the recorded value is known to be wrong";

using OnResult = std::function<void(const GoldenResult&)>;

// A graph of an op file.
struct GoldenTensor {
    std::string op, sub_op, name;
    int32_t type = 0, flags = 0;
    int32_t op_params[GGML_MAX_OP_PARAMS / sizeof(int32_t)] = {};
    int64_t ne[GGML_MAX_DIMS] = {};
    uint64_t nb[GGML_MAX_DIMS] = {};
    int32_t src[GGML_MAX_SRC] = {};
    int32_t view_src = -1;
    uint64_t view_offs = 0;
    enum Kind : uint8_t { kLeaf = 0, kComputed = 1, kView = 2 } kind = kLeaf;
    std::vector<char> bytes;
};
struct GoldenGraph {
    std::string name, params;
    double max_nmse = 0;
    int32_t output = -1;
    std::vector<GoldenTensor> tensors;
};

// The bytes of a file; throws std::runtime_error for what is no regular file, cannot be read, or is
// larger than any golden file.
std::vector<char> golden_bytes(const std::string& path);

// The graphs of one op file; throws std::runtime_error naming file and offset when it is damaged.
std::vector<GoldenGraph> read_golden_ops(const std::string& path);

// Whether the file holds graphs (true) or blocks of a tensor type (false); throws for anything
// else.
bool is_golden_ops(const std::string& path);

// Why a device must not be given a tensor, made from a recorded one, or "". misfit() checks it
// against the bytes recorded, the memory it is a view of and the core's rule for its op; libtenon
// hides those rules, so it needs the library golden_rules.
using CheckTensor = std::function<std::string(const ggml_tensor& t, const GoldenTensor& recorded)>;
std::string misfit(const ggml_tensor& t, const GoldenTensor& recorded);

// Computes a graph on `backend` and compares every recorded node; then once more as it was
// recorded, when only its outputs count. A graph with a tensor that `check` objects
// to fails.
void run_golden_graph(ggml_backend_t backend, const GoldenGraph& graph, const OnResult& on_result,
                      const CheckTensor& check = {});

// The same in host memory, each node computed by `compute` in the recorded order: how the oracle is
// checked.
using ComputeNode = std::function<void(const ggml_tensor& node)>;
void run_golden_graph_on_host(const GoldenGraph& graph, const ComputeNode& compute,
                              const OnResult& on_result);

// Decoding, quantising and dot products of one type file. inputs.bin must lie beside it.
void run_golden_type(const std::string& path, const OnResult& on_result);

// Any golden file. Reports a damaged file as one failure.
void run_golden_file(ggml_backend_t backend, const std::string& path, const OnResult& on_result,
                     const CheckTensor& check = {});

// The golden files of a directory in byte order.
std::vector<std::string> golden_files(const std::string& directory);

}  // namespace tenon::conformance
