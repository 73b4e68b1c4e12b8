// Importance matrices: what the columns of weights are worth, measured by whoever made the file.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tools/rt_gguf/model_file.h"

namespace tenon::rt_gguf {

// Whether rows are quantized to `type` with a look at importance.
bool takes_importance(ggml_type type);

// Importance of the columns of weights, from a file of mean squared activations.
class Importance {
public:
    // Throws cli::Stop when the file is not an importance matrix.
    explicit Importance(const std::string& path);

    // ne[0] values for each of the ne[2] matrices of the tensor, NULL when the file has none for
    // it. Throws when their number is another one.
    const std::vector<float>* find(const Tensor& tensor) const;
    size_t n_tensors() const { return columns_.size(); }
    // What the statistics leave open, in words: "matrices 3 and 5 of 8 were never used …"; "" when
    // they cover the whole tensor.
    std::string gaps(const Tensor& tensor) const;
    const std::string& path() const { return path_; }

private:
    std::string path_;
    struct Columns {
        std::vector<float> values;   // of all matrices
        size_t n_columns;            // of each
        std::vector<size_t> silent;  // matrices without statistics
        size_t n_zero;               // columns of other matrices
    };
    static Columns read(const ModelFile& file, const Tensor& sums, const Tensor& counts);

    std::map<std::string, Columns> columns_;
};

}  // namespace tenon::rt_gguf
