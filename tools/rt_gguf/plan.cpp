// The plan of quantize; declared in plan.h.

#include "tools/rt_gguf/plan.h"

#include <cinttypes>

#include "tools/cli/cli.h"

namespace tenon::rt_gguf {
namespace {

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
