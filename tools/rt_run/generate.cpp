// Continuing a prompt and scoring a text: see generate.h.

#include "tools/rt_run/generate.h"

#include <algorithm>
#include <chrono>

#include "tools/cli/text.h"

namespace rt_run {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

const char* stop_text(StopReason reason) {
    switch (reason) {
        case StopReason::kEndOfText:
            return "end of text";
        case StopReason::kLimit:
            return "token limit reached";
        case StopReason::kContextFull:
            return "context full";
        case StopReason::kCancelled:
            return "interrupted";
    }
    return "";
}

double Generation::prompt_rate() const {
    return prompt_seconds > 0 ? static_cast<double>(n_prompt_done) / prompt_seconds : 0;
}

double Generation::generation_rate() const {
    if (tokens.size() < 2 || generation_seconds <= 0) return 0;
    return static_cast<double>(tokens.size() - 1) / generation_seconds;
}

Generation generate(Session& session, const Tokenizer& tokenizer, Sampler& sampler,
                    const std::string& prompt, int64_t limit, const std::atomic<bool>& cancel,
                    const std::function<void(std::string_view)>& show) {
    Generation out;
    out.prompt = tokenizer.encode(prompt, /*with_ends=*/true, &cancel);
    if (cancel) {
        out.stop = StopReason::kCancelled;
        return out;
    }
    if (out.prompt.empty()) {
        throw tenon::cli::stop(tenon::cli::kUsage,
                               "the prompt is empty and the model has no BOS token");
    }
    auto start = std::chrono::steady_clock::now();
    const int64_t n_before = session.n_past();
    std::span<const float> logits = session.evaluate(out.prompt);
    out.prompt_seconds = seconds_since(start);
    out.n_prompt_done = session.n_past() - n_before;
    out.n_splits = session.n_splits();

    Utf8Stream stream;
    start = std::chrono::steady_clock::now();
    for (;;) {
        if (logits.empty() || cancel) {
            out.stop = StopReason::kCancelled;
            break;
        }
        if (static_cast<int64_t>(out.tokens.size()) >= limit) break;
        const Token next = sampler.pick(logits);
        if (next == tokenizer.eos()) {
            out.stop = StopReason::kEndOfText;
            break;
        }
        out.tokens.push_back(next);
        const std::string piece = tokenizer.decode(next);
        out.text += piece;
        show(stream.push(piece));
        if (static_cast<int64_t>(out.tokens.size()) >= limit) break;
        if (session.n_past() >= session.n_ctx()) {
            out.stop = StopReason::kContextFull;
            break;
        }
        logits = session.evaluate({&out.tokens.back(), 1});
        out.n_splits = session.n_splits();
    }
    out.generation_seconds = seconds_since(start);
    show(stream.flush());
    return out;
}

Evaluation evaluate_text(Session& session, const Tokenizer& tokenizer, const std::string& text,
                         int64_t window, const std::atomic<bool>& cancel,
                         const std::function<void(int64_t, int64_t)>& progress) {
    using tenon::cli::kFailed;
    using tenon::cli::stop;
    Evaluation out;
    if (tokenizer.bos() < 0)
        throw stop(kFailed, "the model has no BOS token to start a window with");
    const std::vector<Token> tokens = tokenizer.encode(text, /*with_ends=*/false, &cancel);
    if (cancel) {
        out.cancelled = true;
        return out;
    }
    out.n_tokens = static_cast<int64_t>(tokens.size());
    if (out.n_tokens < 2)
        throw stop(kFailed, "the text has %zu tokens, 2 are needed", tokens.size());
    const size_t n_vocab = tokenizer.size();
    double sum = 0;
    const int64_t n = std::min(window, out.n_tokens);
    for (int64_t at = 0; at + n <= out.n_tokens; at += n - 1) {
        std::vector<Token> part(tokens.begin() + at, tokens.begin() + at + n);
        part[0] = tokenizer.bos();
        session.reset();
        const std::span<const float> logits =
            session.evaluate({part.data(), part.size() - 1}, true);
        if (logits.empty() || cancel) {
            out.cancelled = true;
            break;
        }
        for (int64_t i = 1; i < n; ++i) {
            sum += negative_log_likelihood(logits.subspan((i - 1) * n_vocab, n_vocab), part[i]);
        }
        out.n_scored += n - 1;
        progress(at + n, out.n_tokens);
    }
    if (out.n_scored > 0) out.mean_nll = sum / static_cast<double>(out.n_scored);
    return out;
}

}  // namespace rt_run
