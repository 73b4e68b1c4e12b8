// The two jobs of rt-run: continuing a prompt, and scoring a text.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/rt_run/sampler.h"
#include "tools/rt_run/session.h"
#include "tools/rt_run/tokenizer.h"

namespace rt_run {

enum class StopReason { kEndOfText, kLimit, kContextFull, kCancelled };
const char* stop_text(StopReason reason);  // "end of text", for people

struct Generation {
    std::vector<Token> prompt, tokens;
    std::string text;  // of the generated tokens
    StopReason stop = StopReason::kLimit;
    double prompt_seconds = 0, generation_seconds = 0;
    int64_t n_prompt_done = 0;  // tokens of the prompt that were evaluated: fewer when cancelled
    int n_splits = 0;
    // Tokens per second; 0 when nothing was measured. The first generated token belongs to the
    // prompt.
    double prompt_rate() const;
    double generation_rate() const;
};

// Continues `prompt` by up to `limit` tokens. `show` gets the text as it comes, whole characters
// only. `cancel`, once set, ends the work early with what there is.
Generation generate(Session& session, const Tokenizer& tokenizer, Sampler& sampler,
                    const std::string& prompt, int64_t limit, const std::atomic<bool>& cancel,
                    const std::function<void(std::string_view)>& show);

struct Evaluation {
    int64_t n_tokens = 0, n_scored = 0;
    double mean_nll = 0;  // nats per token
    bool cancelled = false;
};

// Mean negative log-likelihood of a text: tokenized as a whole without BOS, cut into windows of
// `window` tokens that overlap by one; in each the first token is replaced by BOS and every later
// one is scored. A rest shorter than a window is not scored, unless it is the whole text.
// `progress` gets tokens done and tokens in all.
Evaluation evaluate_text(Session& session, const Tokenizer& tokenizer, const std::string& text,
                         int64_t window, const std::atomic<bool>& cancel,
                         const std::function<void(int64_t, int64_t)>& progress);

}  // namespace rt_run
