// What quantize does with each tensor: the type it gets, and why.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tools/rt_gguf/model_file.h"

namespace tenon::rt_gguf {

// Importance of the columns of weights, from a file of mean squared activations.
class Importance {
public:
    // Throws cli::Stop when the file is not an importance matrix.
    explicit Importance(const std::string& path);

    // ne[0] values for each of the ne[2] matrices of the tensor, NULL when the file has none for
    // it. Throws when their number is another one.
    const std::vector<float>* find(const Tensor& tensor) const;
    size_t n_tensors() const { return columns_.size(); }
    const std::string& path() const { return path_; }

private:
    std::string path_;
    struct Columns {
        std::vector<float> values;  // of all matrices
        size_t n_columns;           // of each
    };
    static Columns read(ModelFile& file, const Tensor& sums, const Tensor& counts);

    std::map<std::string, Columns> columns_;
};

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
