// Choosing the next token from logits: the best one, or by temperature, top-k and top-p.
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <vector>

namespace rt_run {

struct SamplerOptions {
    float temperature = 0.8f;  // 0: always the best token
    int32_t top_k = 40;        // 0: all
    float top_p = 0.95f;       // 1: all
    uint64_t seed = 0;
};

class Sampler {
public:
    explicit Sampler(const SamplerOptions& options) : options_(options), random_(options.seed) {}

    // The next token. Equal seeds and logits give equal tokens on every platform.
    int32_t pick(std::span<const float> logits);

private:
    struct Candidate {
        int32_t token;
        double p;
    };
    SamplerOptions options_;
    std::mt19937_64 random_;
    std::vector<Candidate> candidates_;
};

// The index of the largest value, the first of equals.
int32_t best_token(std::span<const float> logits);

// -log softmax(logits)[token]
double negative_log_likelihood(std::span<const float> logits, int32_t token);

}  // namespace rt_run
