// SentencePiece-style tokenizer: see tokenizer.h.

#include "tools/rt_run/tokenizer.h"

#include <algorithm>
#include <charconv>
#include <queue>
#include <stdexcept>
#include <utility>

#include "tools/rt_run/gguf_values.h"

namespace rt_run {
namespace {

constexpr std::string_view kSpace = "\xe2\x96\x81";  // U+2581, a space inside pieces

// Bytes of the character that starts with `lead`; 1 for a byte that starts none.
size_t utf8_length(uint8_t lead) {
    if (lead >= 0xf0 && lead < 0xf8) return 4;
    if (lead >= 0xe0) return lead < 0xf0 ? 3 : 1;
    if (lead >= 0xc0) return 2;
    return 1;
}

std::string replace_all(std::string_view text, std::string_view what, std::string_view with) {
    std::string out;
    for (size_t at = 0; at < text.size();) {
        if (text.substr(at, what.size()) == what) {
            out += with;
            at += what.size();
        } else {
            out += text[at++];
        }
    }
    return out;
}

// "<0x0A>" -> 10, -1 for anything else
int byte_of_piece(const std::string& piece) {
    if (piece.size() != 6 || piece.compare(0, 3, "<0x") != 0 || piece[5] != '>') return -1;
    int byte = -1;
    const auto end = std::from_chars(piece.data() + 3, piece.data() + 5, byte, 16);
    return end.ptr == piece.data() + 5 ? byte : -1;
}

// A run of the text that is one piece so far, in a doubly linked list.
struct Symbol {
    int32_t prev, next;
    size_t at, size;  // size 0: merged into its left neighbour
};

// Two neighbours that together are a piece.
struct Bigram {
    int32_t left, right;
    float score;
    size_t size;  // of both, to notice that one has changed since
    bool operator<(const Bigram& other) const {
        return score < other.score || (score == other.score && left > other.left);
    }
};

}  // namespace

Tokenizer::Tokenizer(const gguf_context* file, ControlNames names) {
    const auto model = required<std::string>(file, "tokenizer.ggml.model");
    if (model != "llama") {
        throw std::runtime_error("tokenizer '" + model + "' is not supported (supported: llama)");
    }
    read_pieces(file);
    read_special(file);
    if (kinds_.empty()) guess_kinds();
    sort_by_use(names);
}

void Tokenizer::read_pieces(const gguf_context* file) {
    const auto tokens = find_array(file, "tokenizer.ggml.tokens", GGUF_TYPE_STRING);
    const auto scores = find_array(file, "tokenizer.ggml.scores", GGUF_TYPE_FLOAT32);
    const auto kinds = find_array(file, "tokenizer.ggml.token_type", GGUF_TYPE_INT32);
    if (!tokens) throw std::runtime_error("key 'tokenizer.ggml.tokens' is missing");
    if (!scores) throw std::runtime_error("key 'tokenizer.ggml.scores' is missing");
    const size_t n = gguf_get_arr_n(file, *tokens);
    if (n == 0) throw std::runtime_error("key 'tokenizer.ggml.tokens' is empty");
    for (const auto& [name, id] : {std::pair("scores", scores), std::pair("token_type", kinds)}) {
        if (id && gguf_get_arr_n(file, *id) != n) {
            throw std::runtime_error("key 'tokenizer.ggml." + std::string(name) + "' has " +
                                     std::to_string(gguf_get_arr_n(file, *id)) + " entries, " +
                                     std::to_string(n) + " tokens");
        }
    }
    const auto* score_data = static_cast<const float*>(gguf_get_arr_data(file, *scores));
    scores_.assign(score_data, score_data + n);
    for (size_t i = 0; i < n; ++i) pieces_.emplace_back(gguf_get_arr_str(file, *tokens, i));
    if (!kinds) return;
    const auto* kind_data = static_cast<const int32_t*>(gguf_get_arr_data(file, *kinds));
    for (size_t i = 0; i < n; ++i) {
        const int32_t kind = kind_data[i];
        if (kind < 0 || kind > static_cast<int32_t>(Kind::kByte)) {
            throw std::runtime_error("key 'tokenizer.ggml.token_type': token " + std::to_string(i) +
                                     " has type " + std::to_string(kind) + ", expected 0 to 6");
        }
        kinds_.push_back(kind == 0 ? Kind::kNormal : static_cast<Kind>(kind));  // 0: undefined
    }
}

void Tokenizer::read_special(const gguf_context* file) {
    const size_t n = pieces_.size();
    const auto special = [&](const char* key, Token otherwise) {
        const auto id = value<uint32_t>(file, std::string("tokenizer.ggml.") + key);
        if (id && *id >= n) {
            throw std::runtime_error("key 'tokenizer.ggml." + std::string(key) + "' is " +
                                     std::to_string(*id) + ", the vocabulary has " +
                                     std::to_string(n) + " tokens");
        }
        return id ? static_cast<Token>(*id) : otherwise;
    };
    bos_ = special("bos_token_id", n > 1 ? 1 : -1);
    eos_ = special("eos_token_id", n > 2 ? 2 : -1);
    unknown_ = special("unknown_token_id", 0);
    add_bos_ = value<bool>(file, "tokenizer.ggml.add_bos_token").value_or(true) && bos_ >= 0;
    add_eos_ = value<bool>(file, "tokenizer.ggml.add_eos_token").value_or(false) && eos_ >= 0;
    add_space_prefix_ = value<bool>(file, "tokenizer.ggml.add_space_prefix").value_or(true);
}

// For a file that does not tell: bytes show by their names, the special tokens are known.
void Tokenizer::guess_kinds() {
    for (const std::string& piece : pieces_) {
        kinds_.push_back(byte_of_piece(piece) >= 0 ? Kind::kByte : Kind::kNormal);
    }
    kinds_[unknown_] = Kind::kUnknown;
    for (const Token token : {bos_, eos_}) {
        if (token >= 0) kinds_[token] = Kind::kControl;
    }
}

void Tokenizer::sort_by_use(ControlNames names) {
    std::fill(std::begin(byte_ids_), std::end(byte_ids_), -1);
    for (Token i = 0; i < size(); ++i) {
        const std::string& piece = pieces_[i];
        const Kind kind = kinds_[i];
        if (kind == Kind::kByte) {
            if (const int byte = byte_of_piece(piece); byte >= 0) byte_ids_[byte] = i;
            continue;
        }
        const bool special = kind == Kind::kControl || kind == Kind::kUnknown;
        if (!special) ids_.emplace(piece, i);
        if (kind != Kind::kUser && !(special && names == ControlNames::kTokens)) continue;
        if (!piece.empty()) names_.push_back({replace_all(piece, kSpace, " "), i});
    }
    std::stable_sort(names_.begin(), names_.end(),
                     [](const Name& a, const Name& b) { return a.text.size() > b.text.size(); });
}

std::vector<Tokenizer::Part> Tokenizer::cut(std::string_view text,
                                            const std::atomic<bool>* cancel) const {
    std::vector<Part> parts{{text, -1}};
    for (const Name& name : names_) {
        if (cancel && cancel->load(std::memory_order_relaxed)) break;
        if (text.find(name.text) == std::string_view::npos) continue;
        std::vector<Part> finer;
        for (Part part : parts) {
            while (part.token < 0) {
                const size_t at = part.text.find(name.text);
                if (at == std::string_view::npos) break;
                if (at > 0) finer.push_back({part.text.substr(0, at), -1});
                finer.push_back({part.text.substr(at, name.text.size()), name.token});
                part.text.remove_prefix(at + name.text.size());
            }
            if (!part.text.empty()) finer.push_back(part);
        }
        parts = std::move(finer);
    }
    return parts;
}

// Merges the pieces of one stretch of text.
class Tokenizer::Merger {
public:
    Merger(const Tokenizer& tokenizer, std::string text, const std::atomic<bool>* cancel)
        : tokenizer_(tokenizer), text_(std::move(text)), cancel_(cancel) {}

    // Appends the tokens; stops anywhere once it is cancelled.
    void run(std::vector<Token>& out) {
        for (size_t at = 0; at < text_.size() && !cancelled();) {
            const size_t size =
                std::min(utf8_length(static_cast<uint8_t>(text_[at])), text_.size() - at);
            const auto i = static_cast<int32_t>(symbols_.size());
            symbols_.push_back({i - 1, i + 1, at, size});
            at += size;
        }
        if (symbols_.empty()) return;
        symbols_.back().next = -1;
        for (int32_t i = 1; i < static_cast<int32_t>(symbols_.size()) && !cancelled(); ++i) {
            offer(i - 1, i);
        }
        while (!queue_.empty() && !cancelled()) {
            const Bigram b = queue_.top();
            queue_.pop();
            merge(b);
        }
        for (int32_t i = 0; i >= 0 && !cancelled(); i = symbols_[i].next) {
            append(text_.substr(symbols_[i].at, symbols_[i].size), out);
        }
    }

private:
    bool cancelled() const { return cancel_ && cancel_->load(std::memory_order_relaxed); }

    void offer(int32_t left, int32_t right) {
        if (left < 0 || right < 0) return;
        const size_t size = symbols_[left].size + symbols_[right].size;
        std::string piece = text_.substr(symbols_[left].at, size);
        const auto found = tokenizer_.ids_.find(piece);
        if (found == tokenizer_.ids_.end()) return;
        queue_.push({left, right, tokenizer_.scores_[found->second], size});
        if (tokenizer_.kinds_[found->second] == Kind::kUnused) {
            halves_.emplace(std::move(piece), symbols_[left].size);
        }
    }

    void merge(const Bigram& b) {
        Symbol& left = symbols_[b.left];
        Symbol& right = symbols_[b.right];
        if (left.size == 0 || right.size == 0 || left.size + right.size != b.size) return;
        left.size = b.size;
        left.next = right.next;
        right.size = 0;
        if (left.next >= 0) symbols_[left.next].prev = b.left;
        offer(left.prev, b.left);
        offer(b.left, left.next);
    }

    // An unused piece is a step on the way to others; left over, it falls apart again.
    void append(const std::string& piece, std::vector<Token>& out) const {
        if (const auto half = halves_.find(piece); half != halves_.end()) {
            append(piece.substr(0, half->second), out);
            append(piece.substr(half->second), out);
        } else if (const auto found = tokenizer_.ids_.find(piece); found != tokenizer_.ids_.end()) {
            out.push_back(found->second);
        } else {
            tokenizer_.append_bytes(piece, out);
        }
    }

    const Tokenizer& tokenizer_;
    const std::string text_;
    const std::atomic<bool>* cancel_;
    std::vector<Symbol> symbols_;
    std::priority_queue<Bigram> queue_;
    std::unordered_map<std::string, size_t> halves_;  // unused pieces: bytes of their left part
};

std::vector<Token> Tokenizer::encode(std::string_view raw, bool with_ends,
                                     const std::atomic<bool>* cancel) const {
    std::vector<Token> out;
    if (with_ends && add_bos_) out.push_back(bos_);
    const std::string text = replace_all(raw, kSpace, " ");
    bool after_token = true;  // the beginning counts as one
    for (const Part& part : cut(text, cancel)) {
        if (part.token >= 0) {
            out.push_back(part.token);
        } else if (!part.text.empty()) {
            const std::string spaced =
                (after_token && add_space_prefix_ ? " " : "") + std::string(part.text);
            Merger(*this, replace_all(spaced, " ", kSpace), cancel).run(out);
        }
        after_token = part.token >= 0;
    }
    if (with_ends && add_eos_) out.push_back(eos_);
    if (cancel && cancel->load(std::memory_order_relaxed)) return {};
    return out;
}

void Tokenizer::append_bytes(std::string_view piece, std::vector<Token>& out) const {
    for (const char c : piece) {
        const Token id = byte_ids_[static_cast<uint8_t>(c)];
        out.push_back(id >= 0 ? id : unknown_);
    }
}

std::string Tokenizer::decode(Token token) const {
    if (token < 0 || token >= size()) return {};
    const std::string& piece = pieces_[token];
    switch (kinds_[token]) {
        case Kind::kByte: {
            const int byte = byte_of_piece(piece);
            return byte < 0 ? piece : std::string(1, static_cast<char>(byte));
        }
        case Kind::kControl:
            return {};
        case Kind::kUnknown:
            return "\xe2\x96\x85";  // the block SentencePiece shows for it
        default:
            return replace_all(piece, kSpace, " ");
    }
}

std::string Utf8Stream::push(std::string_view bytes) {
    held_ += bytes;
    size_t done = 0;
    while (done < held_.size()) {
        const size_t size = utf8_length(static_cast<uint8_t>(held_[done]));
        size_t have = 1;
        while (have < size && done + have < held_.size() &&
               (static_cast<uint8_t>(held_[done + have]) & 0xc0) == 0x80) {
            ++have;
        }
        if (have < size && done + have == held_.size()) break;  // the rest may still come
        done += have;
    }
    std::string out = held_.substr(0, done);
    held_.erase(0, done);
    return out;
}

std::string Utf8Stream::flush() { return std::exchange(held_, {}); }

}  // namespace rt_run
