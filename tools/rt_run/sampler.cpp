// Choosing the next token: see sampler.h.

#include "tools/rt_run/sampler.h"

#include <algorithm>
#include <cmath>

namespace rt_run {

int32_t best_token(std::span<const float> logits) {
    return static_cast<int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

double negative_log_likelihood(std::span<const float> logits, int32_t token) {
    const double top = *std::max_element(logits.begin(), logits.end());
    double sum = 0;
    for (const float x : logits) sum += std::exp(x - top);
    return std::log(sum) + top - logits[token];
}

int32_t Sampler::pick(std::span<const float> logits) {
    if (options_.temperature <= 0) return best_token(logits);
    candidates_.clear();
    for (size_t i = 0; i < logits.size(); ++i)
        candidates_.push_back({static_cast<int32_t>(i), logits[i]});
    const auto better = [](const Candidate& a, const Candidate& b) {
        return a.p > b.p || (a.p == b.p && a.token < b.token);
    };
    size_t n = candidates_.size();
    if (options_.top_k > 0) n = std::min(n, static_cast<size_t>(options_.top_k));
    std::partial_sort(candidates_.begin(), candidates_.begin() + n, candidates_.end(), better);
    candidates_.resize(n);

    const double top = candidates_.front().p;
    double sum = 0;
    for (Candidate& c : candidates_) sum += c.p = std::exp((c.p - top) / options_.temperature);
    double kept = 0;
    for (n = 0; n < candidates_.size() && (n == 0 || kept < options_.top_p * sum); ++n)
        kept += candidates_[n].p;

    // 53 random bits: std::uniform_real_distribution may differ between standard libraries
    double u = static_cast<double>(random_() >> 11) * 0x1p-53 * kept;
    for (size_t i = 0; i < n; ++i) {
        if ((u -= candidates_[i].p) < 0) return candidates_[i].token;
    }
    return candidates_[n - 1].token;
}

}  // namespace rt_run
