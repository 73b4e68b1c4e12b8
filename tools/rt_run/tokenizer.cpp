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

Tokenizer::Tokenizer(const gguf_context* file) {
    const auto model = required<std::string>(file, "tokenizer.ggml.model");
    if (model != "llama") {
        throw std::runtime_error("tokenizer '" + model + "' is not supported (supported: llama)");
    }
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
    kinds_.assign(n, Kind::kNormal);
    std::fill(std::begin(byte_ids_), std::end(byte_ids_), -1);
    for (size_t i = 0; i < n; ++i) {
        pieces_.emplace_back(gguf_get_arr_str(file, *tokens, i));
        ids_.emplace(pieces_.back(), static_cast<Token>(i));
        if (kinds) {
            kinds_[i] =
                static_cast<Kind>(static_cast<const int32_t*>(gguf_get_arr_data(file, *kinds))[i]);
        }
        if (kinds_[i] == Kind::kByte) {
            if (const int byte = byte_of_piece(pieces_.back()); byte >= 0)
                byte_ids_[byte] = static_cast<Token>(i);
        }
    }
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
    add_space_prefix_ = value<bool>(file, "tokenizer.ggml.add_space_prefix").value_or(true);
}

std::vector<Token> Tokenizer::encode(std::string_view raw, bool with_bos,
                                     const std::atomic<bool>* cancel) const {
    const auto cancelled = [&] { return cancel && cancel->load(std::memory_order_relaxed); };
    std::vector<Token> out;
    if (with_bos && add_bos_) out.push_back(bos_);
    if (raw.empty()) return out;
    const std::string text =
        replace_all((add_space_prefix_ ? " " : "") + std::string(raw), " ", kSpace);

    std::vector<Symbol> symbols;
    for (size_t at = 0; at < text.size();) {
        if (cancelled()) return {};
        const size_t size = std::min(utf8_length(static_cast<uint8_t>(text[at])), text.size() - at);
        const auto i = static_cast<int32_t>(symbols.size());
        symbols.push_back({i - 1, i + 1, at, size});
        at += size;
    }
    symbols.back().next = -1;

    std::priority_queue<Bigram> queue;
    const auto offer = [&](int32_t left, int32_t right) {
        if (left < 0 || right < 0) return;
        const size_t size = symbols[left].size + symbols[right].size;
        const auto found = ids_.find(text.substr(symbols[left].at, size));
        if (found != ids_.end()) queue.push({left, right, scores_[found->second], size});
    };
    for (int32_t i = 1; i < static_cast<int32_t>(symbols.size()); ++i) {
        if (cancelled()) return {};
        offer(i - 1, i);
    }

    while (!queue.empty()) {
        if (cancelled()) return {};
        const Bigram b = queue.top();
        queue.pop();
        Symbol& left = symbols[b.left];
        Symbol& right = symbols[b.right];
        if (left.size == 0 || right.size == 0 || left.size + right.size != b.size) continue;
        left.size = b.size;
        left.next = right.next;
        right.size = 0;
        if (left.next >= 0) symbols[left.next].prev = b.left;
        offer(left.prev, b.left);
        offer(b.left, left.next);
    }
    for (int32_t i = 0; i >= 0; i = symbols[i].next) {
        if (cancelled()) return {};
        const std::string piece = text.substr(symbols[i].at, symbols[i].size);
        if (const auto found = ids_.find(piece); found != ids_.end()) {
            out.push_back(found->second);
        } else {
            append_bytes(piece, out);
        }
    }
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
