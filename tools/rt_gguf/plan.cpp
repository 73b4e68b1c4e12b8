// The plan of quantize; declared in plan.h.

#include "tools/rt_gguf/plan.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstring>

#include "tools/cli/cli.h"

namespace tenon::rt_gguf {
namespace {

std::vector<float> read_floats(ModelFile& file, const Tensor& tensor) {
    if (tensor.type != GGML_TYPE_F32) {
        throw cli::stop(cli::kFailed, "'%s': tensor '%s' is %s, importance is f32",
                        file.path().c_str(), tensor.name.c_str(), ggml_type_name(tensor.type));
    }
    if (const std::string text = file.missing(tensor); !text.empty()) {
        throw cli::stop(cli::kFailed, "'%s': tensor '%s': %s", file.path().c_str(),
                        tensor.name.c_str(), text.c_str());
    }
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

// Why `tensor` cannot be of `type`; "" when it can.
std::string misfit(const Tensor& tensor, ggml_type type, const std::vector<float>* importance) {
    const int64_t block = ggml_blck_size(type);
    if (tensor.row_elements() % block != 0) {
        return cli::format("rows of %" PRId64 " elements are not whole blocks of %" PRId64,
                           tensor.row_elements(), block);
    }
    if (!importance && ggml_quantize_requires_imatrix(type)) return "no importance matrix for it";
    return {};
}

ggml_type wanted_type(const Tensor& tensor, Wishes& wishes) {
    for (Pattern& pattern : wishes.patterns) {
        if (!cli::glob_match(pattern.glob, tensor.name)) continue;
        pattern.used = true;
        return pattern.type;
    }
    return wishes.type;
}

}  // namespace

// Sums of squares over the calls they were summed over, one count per matrix. A matrix that was
// never used says nothing: all its columns count the same.
Importance::Columns Importance::read(ModelFile& file, const Tensor& sums, const Tensor& counts) {
    std::vector<float> values = read_floats(file, sums);
    const std::vector<float> calls = read_floats(file, counts);
    const size_t n_columns = calls.empty() ? 0 : values.size() / calls.size();
    if (n_columns == 0 || n_columns * calls.size() != values.size()) {
        throw cli::stop(cli::kFailed, "'%s': tensor '%s': %zu sums do not divide into %zu counts",
                        file.path().c_str(), sums.name.c_str(), values.size(), calls.size());
    }
    for (size_t i = 0; i < values.size(); ++i) {
        const float n = calls[i / n_columns];
        values[i] = n > 0 ? values[i] / n : 1.0f;
        if (std::isfinite(values[i])) continue;
        throw cli::stop(cli::kFailed, "'%s': tensor '%s': sum %zu over %g calls is not finite",
                        file.path().c_str(), sums.name.c_str(), i, static_cast<double>(n));
    }
    return {std::move(values), n_columns};
}

Importance::Importance(const std::string& path) : path_(path) {
    static const std::string kSums = ".in_sum2", kCounts = ".counts";
    ModelFile file(path);
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
    const auto& [values, n_columns] = found->second;
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

std::vector<Step> make_plan(const ModelFile& file, Wishes& wishes) {
    std::vector<Step> plan;
    std::string refused;
    size_t n_refused = 0;
    for (const Tensor& tensor : file.tensors()) {
        // Vectors are small and sensitive; whole numbers are indices.
        const bool stays = ggml_n_dims(tensor.header) == 1 || !is_convertible(tensor.type) ||
                           (tensor.type >= GGML_TYPE_I8 && tensor.type <= GGML_TYPE_I64);
        if (stays) {
            plan.push_back({&tensor, tensor.type, tensor.type, {}, nullptr});
            continue;
        }
        Step step{&tensor, tensor.type, wanted_type(tensor, wishes), {}, nullptr};
        if (wishes.importance) step.importance = wishes.importance->find(tensor);
        step.reason =
            step.wanted == tensor.type ? "" : misfit(tensor, step.wanted, step.importance);
        step.type = step.wanted;
        if (!step.reason.empty()) {
            const bool fits =
                wishes.fallback && (*wishes.fallback == tensor.type ||
                                    misfit(tensor, *wishes.fallback, step.importance).empty());
            if (fits) {
                step.type = *wishes.fallback;
            } else if (n_refused++ == 0) {
                refused = cli::format("tensor '%s' cannot be %s: %s", tensor.name.c_str(),
                                      ggml_type_name(step.wanted), step.reason.c_str());
            }
        }
        plan.push_back(std::move(step));
    }
    if (n_refused > 0) {
        throw cli::stop(cli::kFailed, "%s; %zu of %zu tensors are like it; %s", refused.c_str(),
                        n_refused, file.tensors().size(),
                        wishes.fallback
                            ? "the --fallback type does not fit them either, f16 always does"
                            : "--fallback f16 would store them as f16");
    }
    return plan;
}

}  // namespace tenon::rt_gguf
