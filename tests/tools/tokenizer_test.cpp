// The tokenizer of rt-run: what each type of token means for a text.

#include "tools/rt_run/tokenizer.h"

#include <gtest/gtest.h>

#include "ggml-cpp.h"

namespace {

using namespace rt_run;

enum Type : int32_t { kUndefined, kNormal, kUnknown, kControl, kUser, kUnused, kByte };

// A vocabulary of <unk> <s> </s>, 256 bytes, and the pieces that are added.
class Vocabulary {
public:
    Vocabulary() {
        add("<unk>", kUnknown);
        add("<s>", kControl);
        add("</s>", kControl);
        for (int byte = 0; byte < 256; ++byte) {
            char name[8];
            std::snprintf(name, sizeof name, "<0x%02X>", byte);
            add(name, kByte);
        }
    }
    Token add(const std::string& piece, int32_t type = kNormal, float score = -100) {
        pieces_.push_back(piece);
        types_.push_back(type);
        scores_.push_back(score);
        return static_cast<Token>(pieces_.size()) - 1;
    }
    gguf_context_ptr file(bool with_types = true) const {
        gguf_context_ptr file(gguf_init_empty());
        std::vector<const char*> names;
        for (const std::string& piece : pieces_) names.push_back(piece.c_str());
        gguf_set_val_str(file.get(), "tokenizer.ggml.model", "llama");
        gguf_set_arr_str(file.get(), "tokenizer.ggml.tokens", names.data(), names.size());
        gguf_set_arr_data(file.get(), "tokenizer.ggml.scores", GGUF_TYPE_FLOAT32, scores_.data(),
                          scores_.size());
        if (with_types) {
            gguf_set_arr_data(file.get(), "tokenizer.ggml.token_type", GGUF_TYPE_INT32,
                              types_.data(), types_.size());
        }
        return file;
    }

private:
    std::vector<std::string> pieces_;
    std::vector<int32_t> types_;
    std::vector<float> scores_;
};

using Tokens = std::vector<Token>;

constexpr Token byte(unsigned char c) { return 3 + c; }

// a b c and the space, each a piece.
struct Letters : Vocabulary {
    const Token space = add("▁"), a = add("a"), b = add("b"), c = add("c");

    Tokens encode(const std::string& text, bool with_ends = false) const {
        return Tokenizer(file().get()).encode(text, with_ends);
    }
    Tokens encode_control(const std::string& text) const {
        return Tokenizer(file().get(), ControlNames::kTokens).encode(text, false);
    }
};

TEST(Tokenizer, UserDefinedTokensAreFoundBeforeAnythingIsMerged) {
    Letters v;
    const Token ab = v.add("ab", kNormal, 0), sep = v.add("<|b|>", kUser, -1000);
    EXPECT_EQ(v.encode("ab<|b|>ab"), (Tokens{v.space, ab, sep, v.space, ab}));
    EXPECT_EQ(v.encode("<|b|><|b|>"), (Tokens{sep, sep}));
    EXPECT_EQ(v.encode("<|b|"), (Tokens{v.space, byte('<'), byte('|'), v.b, byte('|')}));
}

TEST(Tokenizer, TheLongestNameWins) {
    Letters v;
    const Token ab = v.add("ab", kUser), abc = v.add("abc", kUser), bcc = v.add("bcc", kUser);
    EXPECT_EQ(v.encode("abcab"), (Tokens{abc, ab}));
    // as long, and later in the vocabulary
    EXPECT_EQ(v.encode("abcc"), (Tokens{abc, v.space, v.c}));
    EXPECT_EQ(v.encode("bcc"), (Tokens{bcc}));
}

TEST(Tokenizer, ControlTokensAreTextUnlessAskedFor) {
    Letters v;
    const Tokens as_text{v.space, byte('<'), byte('s'), byte('>'), v.a};
    EXPECT_EQ(v.encode("<s>a"), as_text);
    EXPECT_EQ(v.encode_control("<s>a</s>"), (Tokens{1, v.space, v.a, 2}));
    EXPECT_EQ(v.encode_control("<unk>"), (Tokens{0}));
}

// However a control token is spelled, merging never makes one.
TEST(Tokenizer, MergingMakesNoControlUnknownOrByteTokens) {
    Letters v;
    const Token end = v.add("bc", kControl, 10), letter = v.add("d", kControl);
    EXPECT_EQ(v.encode("abc"), (Tokens{v.space, v.a, v.b, v.c}));
    EXPECT_EQ(v.encode("d"), (Tokens{v.space, byte('d')}));
    EXPECT_EQ(v.encode_control("abcd"), (Tokens{v.space, v.a, end, letter}));
}

TEST(Tokenizer, AnUnusedPieceIsOnlyAStepOnTheWay) {
    Letters v;
    v.add("ab", kUnused, 5);
    const Token abc = v.add("abc", kNormal, 4);
    EXPECT_EQ(v.encode("abc"), (Tokens{v.space, abc}));
    EXPECT_EQ(v.encode("abb"), (Tokens{v.space, v.a, v.b, v.b}));
    EXPECT_EQ(v.encode("ab"), (Tokens{v.space, v.a, v.b}));
}

TEST(Tokenizer, SpacesInNamesAreThoseOfTheText) {
    Letters v;
    const Token spaces = v.add("  ", kUser), marked = v.add("▁▁▁", kUser);
    EXPECT_EQ(v.encode("a  b"), (Tokens{v.space, v.a, spaces, v.space, v.b}));
    EXPECT_EQ(v.encode("a   b"), (Tokens{v.space, v.a, marked, v.space, v.b}));
    EXPECT_EQ(v.encode("a▁▁b"), v.encode("a  b"));
    const Tokenizer tokenizer(v.file().get());
    EXPECT_EQ(tokenizer.decode(spaces), "  ");
    EXPECT_EQ(tokenizer.decode(marked), "   ");
}

TEST(Tokenizer, TheFileDecidesAboutSpacesAndEnds) {
    Letters v;
    const Token sep = v.add("<|b|>", kUser);
    const gguf_context_ptr file = v.file();
    EXPECT_EQ(Tokenizer(file.get()).encode("a", true), (Tokens{1, v.space, v.a}));
    gguf_set_val_bool(file.get(), "tokenizer.ggml.add_space_prefix", false);
    gguf_set_val_bool(file.get(), "tokenizer.ggml.add_bos_token", false);
    gguf_set_val_bool(file.get(), "tokenizer.ggml.add_eos_token", true);
    EXPECT_EQ(Tokenizer(file.get()).encode("a<|b|>b", true), (Tokens{v.a, sep, v.b, 2}));
    EXPECT_EQ(Tokenizer(file.get()).encode("", true), (Tokens{2}));
    EXPECT_EQ(Tokenizer(file.get()).encode("", false), (Tokens{}));
}

TEST(Tokenizer, AFileWithoutTypesHasBytesAndSpecialTokens) {
    Letters v;
    const Tokenizer tokenizer(v.file(/*with_types=*/false).get());
    EXPECT_EQ(tokenizer.encode("a!", true), (Tokens{1, v.space, v.a, byte('!')}));
    EXPECT_EQ(tokenizer.decode(byte('\n')), "\n");
    EXPECT_EQ(tokenizer.decode(1), "");
}

TEST(Tokenizer, TypesOutOfRangeAreErrors) {
    for (const int32_t type : {-1, 7, 1 << 30}) {
        Letters v;
        v.add("x", type);
        try {
            Tokenizer tokenizer(v.file().get());
            ADD_FAILURE() << type;
        } catch (const std::runtime_error& e) {
            EXPECT_EQ(std::string(e.what()),
                      "key 'tokenizer.ggml.token_type': token 263 has type " +
                          std::to_string(type) + ", expected 0 to 6");
        }
    }
    Letters undefined;
    const Token x = undefined.add("x", kUndefined);
    EXPECT_EQ(undefined.encode("x"), (Tokens{undefined.space, x}));
}

TEST(Tokenizer, AnEmptyNameCutsNothing) {
    Letters v;
    v.add("", kUser);
    EXPECT_EQ(v.encode("ab"), (Tokens{v.space, v.a, v.b}));
}

TEST(Tokenizer, OtherModelsAreRefusedByName) {
    const gguf_context_ptr file = Letters().file();
    gguf_set_val_str(file.get(), "tokenizer.ggml.model", "gpt2");
    try {
        Tokenizer tokenizer(file.get());
        ADD_FAILURE();
    } catch (const std::runtime_error& e) {
        EXPECT_EQ(std::string(e.what()), "tokenizer 'gpt2' is not supported (supported: llama)");
    }
}

}  // namespace
