// Reading importance matrices; declared in importance.h.

#include "tools/rt_gguf/importance.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <span>

#include "tools/cli/cli.h"

namespace tenon::rt_gguf {
namespace {

std::vector<float> read_floats(const ModelFile& file, const Tensor& tensor) {
    if (tensor.type != GGML_TYPE_F32) {
        throw cli::stop(cli::kFailed, "'%s': tensor '%s' is %s, importance is f32",
                        file.path().c_str(), tensor.name.c_str(), ggml_type_name(tensor.type));
    }
    file.expect_complete(tensor);
    std::vector<float> values(static_cast<size_t>(tensor.elements()));
    if (!values.empty()) file.read(tensor, 0, values.data(), tensor.size);
    for (size_t i = 0; i < values.size(); ++i) {
        if (std::isfinite(values[i]) && values[i] >= 0) continue;
        throw cli::stop(
            cli::kFailed, "'%s': tensor '%s': value %zu is %g, must be finite and not below 0",
            file.path().c_str(), tensor.name.c_str(), i, static_cast<double>(values[i]));
    }
    return values;
}

}  // namespace

bool takes_importance(ggml_type type) {
    static constexpr ggml_type kIndifferent[] = {
        GGML_TYPE_F32,  GGML_TYPE_F16,   GGML_TYPE_BF16,  GGML_TYPE_Q8_0,  GGML_TYPE_Q1_0,
        GGML_TYPE_Q2_0, GGML_TYPE_MXFP4, GGML_TYPE_NVFP4, GGML_TYPE_TQ1_0, GGML_TYPE_TQ2_0};
    return std::find(std::begin(kIndifferent), std::end(kIndifferent), type) ==
           std::end(kIndifferent);
}

// Sums of squares over the calls they were summed over, one count per matrix. A matrix that was
// never used says nothing: all its columns count the same. Zeros stay: quantizers take them for
// missing.
Importance::Columns Importance::read(const ModelFile& file, const Tensor& sums,
                                     const Tensor& counts) {
    std::vector<float> values = read_floats(file, sums);
    const std::vector<float> calls = read_floats(file, counts);
    const size_t n_columns = calls.empty() ? 0 : values.size() / calls.size();
    if (n_columns == 0 || n_columns * calls.size() != values.size()) {
        throw cli::stop(cli::kFailed, "'%s': tensor '%s': %zu sums do not divide into %zu counts",
                        file.path().c_str(), sums.name.c_str(), values.size(), calls.size());
    }
    Columns columns{std::move(values), n_columns, {}, 0};
    for (size_t matrix = 0; matrix < calls.size(); ++matrix) {
        const std::span row(columns.values.data() + matrix * n_columns, n_columns);
        const auto n_zero = static_cast<size_t>(std::count(row.begin(), row.end(), 0.0f));
        if (!(calls[matrix] > 0)) std::fill(row.begin(), row.end(), 1.0f);
        if (!(calls[matrix] > 0) || n_zero == n_columns) {
            columns.silent.push_back(matrix);
            continue;
        }
        columns.n_zero += n_zero;
        for (float& value : row) {
            value /= calls[matrix];
            if (std::isfinite(value)) continue;
            throw cli::stop(cli::kFailed, "'%s': tensor '%s': a sum over %g calls is not finite",
                            file.path().c_str(), sums.name.c_str(),
                            static_cast<double>(calls[matrix]));
        }
    }
    return columns;
}

Importance::Importance(const std::string& path) : path_(path) {
    static const std::string kSums = ".in_sum2", kCounts = ".counts";
    const ModelFile file(path);
    const gguf_context* ctx = file.gguf();
    const int64_t type = gguf_find_key(ctx, "general.type");
    const bool is_string = type >= 0 && gguf_get_kv_type(ctx, type) == GGUF_TYPE_STRING;
    const std::string kind = is_string ? gguf_get_val_str(ctx, type) : "";
    if (kind != "imatrix") {
        throw cli::stop(cli::kFailed, "'%s': key 'general.type' is '%s', must be 'imatrix'",
                        path.c_str(), kind.c_str());
    }
    for (const Tensor& sums : file.tensors()) {
        if (!sums.name.ends_with(kSums)) continue;
        const std::string name = sums.name.substr(0, sums.name.size() - kSums.size());
        const Tensor* counts = file.find(name + kCounts);
        if (!counts) {
            throw cli::stop(cli::kFailed, "'%s': tensor '%s' has no '%s%s'", path.c_str(),
                            sums.name.c_str(), name.c_str(), kCounts.c_str());
        }
        columns_[name] = read(file, sums, *counts);
    }
    if (columns_.empty()) {
        throw cli::stop(cli::kFailed, "'%s': holds no importance, no tensor ends in '%s'",
                        path.c_str(), kSums.c_str());
    }
}

const std::vector<float>* Importance::find(const Tensor& tensor) const {
    const auto found = columns_.find(tensor.name);
    if (found == columns_.end()) return nullptr;
    const std::vector<float>& values = found->second.values;
    const size_t n_columns = found->second.n_columns;
    const auto need_columns = static_cast<size_t>(tensor.header->ne[0]);
    const auto need_matrices = static_cast<size_t>(tensor.header->ne[2]);
    if (n_columns != need_columns || values.size() / n_columns != need_matrices) {
        throw cli::stop(cli::kFailed,
                        "'%s': tensor '%s': importance of %zu matrices with %zu columns, needs "
                        "%zu with %zu",
                        path_.c_str(), tensor.name.c_str(), values.size() / n_columns, n_columns,
                        need_matrices, need_columns);
    }
    return &values;
}

std::string Importance::gaps(const Tensor& tensor) const {
    const auto found = columns_.find(tensor.name);
    if (found == columns_.end()) return "has no statistics";
    const Columns& columns = found->second;
    const size_t n_matrices = columns.values.size() / columns.n_columns;
    std::vector<std::string> parts;
    if (!columns.silent.empty() && n_matrices == 1) {
        parts.emplace_back("has statistics of nothing but zeros");
    } else if (!columns.silent.empty()) {
        constexpr size_t kNamed = 16;
        std::vector<std::string> numbers;
        for (const size_t matrix : columns.silent) {
            if (numbers.size() < kNamed) numbers.push_back(std::to_string(matrix));
        }
        if (columns.silent.size() > kNamed) numbers.emplace_back("…");
        parts.push_back(cli::format("%zu of %zu matrices have no statistics (%s)",
                                    columns.silent.size(), n_matrices,
                                    cli::joined(numbers).c_str()));
    }
    if (columns.n_zero > 0) {
        parts.push_back(cli::format("statistics are zero for %zu of %zu columns", columns.n_zero,
                                    columns.values.size()));
    }
    return parts.empty() ? "" : cli::joined(parts);
}

}  // namespace tenon::rt_gguf
