// What quantize does with each tensor: the type it gets, and why.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/rt_gguf/importance.h"
#include "tools/rt_gguf/model_file.h"

namespace tenon::rt_gguf {

struct Pattern {
    std::string glob;
    ggml_type type;
    bool used = false;
};

struct Wishes {
    ggml_type type;
    std::vector<Pattern> patterns;  // the first that matches decides
    std::optional<ggml_type> fallback;
    const Importance* importance = nullptr;
};

struct Step {
    const Tensor* tensor;
    ggml_type type;                        // what it becomes
    ggml_type wanted;                      // what was asked for
    std::string reason;                    // why it is not that
    const std::vector<float>* importance;  // NULL: none
    bool copied() const { return type == tensor->type; }
    bool fell_back() const { return type != wanted; }
};

// Throws cli::Stop when a tensor cannot get its type and there is no fallback that fits. Marks the
// patterns that matched.
std::vector<Step> make_plan(const ModelFile& file, Wishes& wishes);

}  // namespace tenon::rt_gguf
