// SentencePiece-style tokenizer, built from a GGUF file's own vocabulary, with byte fallback.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "gguf.h"

namespace rt_run {

using Token = int32_t;

class Tokenizer {
public:
    // Reads tokenizer.ggml.*; throws std::runtime_error naming the key that is missing or wrong.
    explicit Tokenizer(const gguf_context* file);

    int32_t size() const { return static_cast<int32_t>(pieces_.size()); }
    Token bos() const { return bos_; }
    Token eos() const { return eos_; }  // -1: the vocabulary has none
    bool adds_bos() const { return add_bos_; }

    // Merges neighbouring pieces by score, the best first, as SentencePiece's BPE does. Text that
    // no piece covers becomes byte tokens, or the unknown token where the vocabulary lacks bytes.
    // Once `cancel` is set it gives up, with nothing: a long text takes seconds.
    std::vector<Token> encode(std::string_view text, bool with_bos,
                              const std::atomic<bool>* cancel = nullptr) const;

    // The bytes a token stands for; may be part of a character. Control tokens stand for nothing.
    std::string decode(Token token) const;

private:
    enum class Kind : int32_t {
        kNormal = 1,
        kUnknown = 2,
        kControl = 3,
        kUser = 4,
        kUnused = 5,
        kByte = 6
    };

    void append_bytes(std::string_view piece, std::vector<Token>& out) const;

    std::vector<std::string> pieces_;
    std::vector<float> scores_;
    std::vector<Kind> kinds_;
    std::unordered_map<std::string, Token> ids_;
    Token byte_ids_[256];
    Token bos_ = -1, eos_ = -1, unknown_ = -1;
    bool add_bos_ = true, add_space_prefix_ = true;
};

// Holds back the bytes of a character until all of them have come.
class Utf8Stream {
public:
    // The complete characters among what is held and `bytes`. Bytes that can never become a
    // character are passed on as they are.
    std::string push(std::string_view bytes);
    std::string flush();  // whatever is left

private:
    std::string held_;
};

}  // namespace rt_run
