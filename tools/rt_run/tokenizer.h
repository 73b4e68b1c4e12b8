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

// Whether the names of control tokens ("<s>") in a text are these tokens, or text like any other.
enum class ControlNames { kText, kTokens };

class Tokenizer {
public:
    // Reads tokenizer.ggml.*; throws std::runtime_error naming the key that is missing or wrong.
    explicit Tokenizer(const gguf_context* file, ControlNames names = ControlNames::kText);

    int32_t size() const { return static_cast<int32_t>(pieces_.size()); }
    Token bos() const { return bos_; }
    Token eos() const { return eos_; }  // -1: the vocabulary has none
    bool adds_bos() const { return add_bos_; }

    // Cuts the text at the names of user-defined tokens, and of control tokens where these count,
    // the longest first. In the rest it merges neighbouring pieces by score, the best first, as
    // SentencePiece's BPE does; a space goes in front of it unless the file forbids that. Text that
    // no piece covers becomes byte tokens, or the unknown token where the vocabulary lacks bytes.
    // `with_ends`: BOS and EOS where the file wants them. Once `cancel` is set it gives up, with
    // nothing: a long text takes seconds.
    std::vector<Token> encode(std::string_view text, bool with_ends,
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
    // A stretch of a text: a token by name, or text to merge.
    struct Part {
        std::string_view text;
        Token token;  // -1: text
    };
    class Merger;

    void read_pieces(const gguf_context* file);
    void read_special(const gguf_context* file);
    void guess_kinds();
    void sort_by_use(ControlNames names);
    std::vector<Part> cut(std::string_view text, const std::atomic<bool>* cancel) const;
    void append_bytes(std::string_view piece, std::vector<Token>& out) const;

    std::vector<std::string> pieces_;
    std::vector<float> scores_;
    std::vector<Kind> kinds_;                     // empty until known
    std::unordered_map<std::string, Token> ids_;  // pieces that merging can make
    struct Name {
        std::string text;  // with spaces
        Token token;
    };
    std::vector<Name> names_;  // that a text is cut at, the longest first
    Token byte_ids_[256];
    Token bos_ = -1, eos_ = -1, unknown_ = -1;
    bool add_bos_ = true, add_eos_ = false, add_space_prefix_ = true;
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
