// Writing model files and changing them: round trips byte for byte, setters, alignment, bad calls.

#include <fcntl.h>
#include <unistd.h>

#include <map>

#include "tests/support/allocations.h"
#include "tests/support/gguf_bytes.h"

// Declared for clients' tests, with C++ linkage.
size_t gguf_type_size(enum gguf_type type);
void gguf_write_to_buf(const gguf_context* ctx, std::vector<int8_t>& buf, bool only_meta);

using namespace tenon::test;

namespace {

Ggml tensors(size_t bytes, bool no_alloc = false) {
    return Ggml(ggml_init({bytes, nullptr, no_alloc}));
}

Bytes to_buffer(const gguf_context* ctx, bool only_meta) {
    std::vector<int8_t> out;
    gguf_write_to_buf(ctx, out, only_meta);
    return Bytes(out.begin(), out.end());
}

// ---- round trips ------------------------------------------------------------------------------

// Rows whose bytes are not what a writer writes, with the canonical form of the same content.
Bytes canonical(const Case& c) {
    Builder b;
    const auto float_data = [&](size_t size) { b.pad(32).bytes.resize(b.bytes.size() + size); };
    if (c.name == "kv-bool-5") {
        Bytes bytes = c.bytes;
        bytes.back() = 1;
        return bytes;
    }
    if (c.name == "arr-bool-3") {
        Bytes bytes = c.bytes;
        bytes.back() = 1;  // was 7
        return bytes;
    }
    if (c.name == "trailing-junk") return Bytes(c.bytes.begin(), c.bytes.begin() + 24);
    if (c.name == "t-ndims-0") {
        b.header(1, 0).tensor("t", {1}, GGML_TYPE_F32, 0);
        float_data(32);
        return b.bytes;
    }
    if (c.name == "t-ndims-4") {  // a last dimension of 1 is not written
        b.header(1, 0).tensor("t", {2, 1, 3}, GGML_TYPE_F32, 0);
        float_data(32);
        return b.bytes;
    }
    return c.bytes;
}

TEST(GgufWriter, CopiesEveryAcceptedRowOfTheCorpusByteForByte) {
    int n_copied = 0;
    for (const Case& c : corpus()) {
        if (c.result[0] != 'Y') continue;
        SCOPED_TRACE(c.name);
        const Opened in = open_bytes(c.bytes, Mode::kMetaOnly);
        ASSERT_TRUE(in.file) << in.error;
        const size_t alignment = gguf_get_alignment(in.file.get());
        Bytes expected = canonical(c);
        if (gguf_get_n_tensors(in.file.get()) == 0 || c.result[2] != 'Y') {
            // No data section, or not the whole of it: the metadata, padded.
            const size_t meta = gguf_get_data_offset(in.file.get());
            expected.resize(meta);
            while (expected.size() % alignment != 0) expected.push_back(0);
            EXPECT_EQ(written(in.file.get(), /*only_meta=*/true), expected);
            EXPECT_EQ(gguf_get_meta_size(in.file.get()), expected.size());
        } else {
            const Bytes copy = copied(c.bytes);
            ASSERT_FALSE(copy.empty());
            expected.resize(copy.size());  // whatever trails the data is not copied
            EXPECT_EQ(copy, expected);
            EXPECT_EQ(copied(copy), copy);
        }
        ++n_copied;
    }
    EXPECT_EQ(n_copied, 43);
}

TEST(GgufWriter, CopiesTheModelByteForByte) {
    const Bytes model = read_bytes(TENON_TEST_DATA "/data/stories260K.gguf");
    ASSERT_FALSE(model.empty());
    EXPECT_TRUE(copied(model) == model);
    const Opened in = open_bytes(model, Mode::kMetaOnly);
    const Bytes meta(model.begin(),
                     model.begin() + static_cast<ptrdiff_t>(gguf_get_data_offset(in.file.get())));
    EXPECT_TRUE(written(in.file.get(), /*only_meta=*/true) == meta);
    EXPECT_TRUE(to_buffer(in.file.get(), /*only_meta=*/true) == meta);
    Bytes data(gguf_get_meta_size(in.file.get()));
    gguf_get_meta_data(in.file.get(), data.data());
    EXPECT_TRUE(data == meta);
}

TEST(GgufWriter, WritesTheWorkedExample) {
    const Gguf f(gguf_init_empty());
    gguf_set_val_u32(f.get(), "a.b", 7);
    const Ggml ctx = tensors(4096);
    ggml_tensor* t = ggml_new_tensor_1d(ctx.get(), GGML_TYPE_F32, 2);
    ggml_set_name(t, "t");
    static_cast<float*>(t->data)[0] = 1;
    static_cast<float*>(t->data)[1] = 2;
    gguf_add_tensor(f.get(), t);
    EXPECT_EQ(written(f.get(), /*only_meta=*/false), example());
    EXPECT_EQ(to_buffer(f.get(), /*only_meta=*/false), example());
    EXPECT_EQ(gguf_get_meta_size(f.get()), 0x60u);
    EXPECT_EQ(gguf_get_data_offset(f.get()), 0u) << "only reading finds an offset";
}

TEST(GgufWriter, AnEmptyFileIsPadded) {
    const Gguf f(gguf_init_empty());
    EXPECT_EQ(written(f.get(), false).size(), 32u);
}

TEST(GgufWriter, VersionTwoStaysVersionTwo) {
    Builder b;
    b.header(0, 1, /*version=*/2).u32("k", 1).pad(32);
    EXPECT_EQ(copied(b.bytes), b.bytes);
}

TEST(GgufWriter, KeepsZeroDimensionsAndBytesAfterNul) {
    Builder b;
    b.header(3, 1).text("s").number<int32_t>(GGUF_TYPE_STRING).text(std::string("a\0b", 3));
    b.tensor("z", {4, 0}, GGML_TYPE_F32, 0).tensor("y", {0, 3, 1, 2}, GGML_TYPE_Q4_0, 0);
    b.tensor("x", {1}, GGML_TYPE_F32, 0).pad(32).number(1.0f).pad(32);
    EXPECT_EQ(copied(b.bytes), b.bytes);
}

TEST(GgufWriter, PaddingCountsFromTheFirstByteWritten) {
    const Opened in = open_bytes(example(), Mode::kLoad);
    gguf_set_tensor_data(in.file.get(), "t", ggml_get_tensor(in.tensors.get(), "t")->data);
    const File file = file_with({9, 9, 9, 9, 9});
    std::fseek(file.get(), 5, SEEK_SET);
    ASSERT_TRUE(gguf_write_to_file_ptr(in.file.get(), file.get(), /*only_meta=*/false));
    Bytes bytes(5 + 128);
    std::rewind(file.get());
    ASSERT_EQ(std::fread(bytes.data(), 1, bytes.size() + 1, file.get()), bytes.size());
    EXPECT_EQ(Bytes(bytes.begin() + 5, bytes.end()), example());
}

// ---- pairs ------------------------------------------------------------------------------------

TEST(GgufPairs, EveryTypeIsReadAsItWasSet) {
    const Gguf g(gguf_init_empty());
    gguf_context* f = g.get();
    gguf_set_val_u8(f, "u8", 200);
    gguf_set_val_i8(f, "i8", -5);
    gguf_set_val_u16(f, "u16", 65535);
    gguf_set_val_i16(f, "i16", -2);
    gguf_set_val_u32(f, "u32", 7);
    gguf_set_val_i32(f, "i32", -7);
    gguf_set_val_f32(f, "f32", 1.5f);
    gguf_set_val_u64(f, "u64", 1ull << 63);
    gguf_set_val_i64(f, "i64", -1);
    gguf_set_val_f64(f, "f64", 2.5);
    gguf_set_val_bool(f, "bool", true);
    gguf_set_val_str(f, "str", "hey");
    const float floats[] = {1, 2, 3};
    gguf_set_arr_data(f, "floats", GGUF_TYPE_FLOAT32, floats, 3);
    const uint8_t bools[] = {0, 1, 7};
    gguf_set_arr_data(f, "bools", GGUF_TYPE_BOOL, bools, 3);
    gguf_set_arr_data(f, "none", GGUF_TYPE_UINT64, nullptr, 0);
    const char* words[] = {"one", "", "three"};
    gguf_set_arr_str(f, "words", words, 3);

    const Bytes bytes = written(f, /*only_meta=*/true);
    EXPECT_EQ(bytes.size(), gguf_get_meta_size(f));
    const Opened in = open_bytes(bytes, Mode::kMetaOnly);
    ASSERT_TRUE(in.file) << in.error;
    for (const gguf_context* c :
         {static_cast<const gguf_context*>(f), static_cast<const gguf_context*>(in.file.get())}) {
        const auto id = [&](const char* key) { return gguf_find_key(c, key); };
        ASSERT_EQ(gguf_get_n_kv(c), 16);
        EXPECT_EQ(gguf_get_val_u8(c, id("u8")), 200);
        EXPECT_EQ(gguf_get_val_i8(c, id("i8")), -5);
        EXPECT_EQ(gguf_get_val_u16(c, id("u16")), 65535);
        EXPECT_EQ(gguf_get_val_i16(c, id("i16")), -2);
        EXPECT_EQ(gguf_get_val_u32(c, id("u32")), 7u);
        EXPECT_EQ(gguf_get_val_i32(c, id("i32")), -7);
        EXPECT_EQ(gguf_get_val_f32(c, id("f32")), 1.5f);
        EXPECT_EQ(gguf_get_val_u64(c, id("u64")), 1ull << 63);
        EXPECT_EQ(gguf_get_val_i64(c, id("i64")), -1);
        EXPECT_EQ(gguf_get_val_f64(c, id("f64")), 2.5);
        EXPECT_TRUE(gguf_get_val_bool(c, id("bool")));
        EXPECT_STREQ(gguf_get_val_str(c, id("str")), "hey");
        EXPECT_EQ(*static_cast<const uint32_t*>(gguf_get_val_data(c, id("u32"))), 7u);
        // Scalars answer the questions about arrays as arrays of one.
        EXPECT_EQ(gguf_get_arr_n(c, id("u8")), 1u);
        EXPECT_EQ(*static_cast<const uint8_t*>(gguf_get_arr_data(c, id("u8"))), 200);
        EXPECT_STREQ(gguf_get_arr_str(c, id("str"), 0), "hey");
        EXPECT_EQ(gguf_get_kv_type(c, id("floats")), GGUF_TYPE_ARRAY);
        EXPECT_EQ(gguf_get_arr_type(c, id("floats")), GGUF_TYPE_FLOAT32);
        EXPECT_EQ(static_cast<const float*>(gguf_get_arr_data(c, id("floats")))[2], 3.0f);
        EXPECT_EQ(static_cast<const int8_t*>(gguf_get_arr_data(c, id("bools")))[2], 1);
        EXPECT_EQ(gguf_get_arr_n(c, id("none")), 0u);
        EXPECT_EQ(gguf_get_arr_data(c, id("none")), nullptr);
        EXPECT_EQ(gguf_get_arr_n(c, id("words")), 3u);
        EXPECT_STREQ(gguf_get_arr_str(c, id("words"), 2), "three");
    }
}

TEST(GgufPairs, AnArrayOfOneCountsAsAScalar) {
    const Gguf f(gguf_init_empty());
    const uint32_t seven = 7;
    gguf_set_arr_data(f.get(), "k", GGUF_TYPE_UINT32, &seven, 1);
    EXPECT_EQ(gguf_get_val_u32(f.get(), 0), 7u);
}

TEST(GgufPairs, SettingAgainMovesThePairToTheEnd) {
    const Gguf f(gguf_init_empty());
    for (const char* key : {"a", "b", "c"}) gguf_set_val_u32(f.get(), key, 1);
    gguf_set_val_str(f.get(), "a", "x");
    EXPECT_EQ(gguf_get_n_kv(f.get()), 3);
    EXPECT_EQ(gguf_find_key(f.get(), "b"), 0);
    EXPECT_EQ(gguf_find_key(f.get(), "c"), 1);
    EXPECT_EQ(gguf_find_key(f.get(), "a"), 2);
    EXPECT_EQ(gguf_remove_key(f.get(), "b"), 0);
    EXPECT_EQ(gguf_remove_key(f.get(), "b"), -1);
    EXPECT_EQ(gguf_find_key(f.get(), "a"), 1);
    EXPECT_STREQ(gguf_get_key(f.get(), 0), "c");
}

TEST(GgufPairs, ArgumentsMayPointIntoTheContext) {
    const Gguf f(gguf_init_empty());
    gguf_set_val_str(f.get(), "key", "value that is too long for any small buffer inside");
    gguf_set_val_str(f.get(), gguf_get_key(f.get(), 0), gguf_get_val_str(f.get(), 0));
    EXPECT_STREQ(gguf_get_key(f.get(), 0), "key");
    EXPECT_STREQ(gguf_get_val_str(f.get(), 0),
                 "value that is too long for any small buffer inside");
    gguf_set_kv(f.get(), f.get());
    EXPECT_EQ(gguf_get_n_kv(f.get()), 1);
}

TEST(GgufPairs, PointersStayValidWhileOthersChange) {
    const Gguf f(gguf_init_empty());
    gguf_set_val_str(f.get(), "k0", "v");
    const char* key = gguf_get_key(f.get(), 0);
    const char* value = gguf_get_val_str(f.get(), 0);
    for (int i = 1; i < 200; ++i) gguf_set_val_u32(f.get(), ("k" + std::to_string(i)).c_str(), 1);
    gguf_remove_key(f.get(), "k5");
    EXPECT_EQ(gguf_get_key(f.get(), 0), key);
    EXPECT_EQ(gguf_get_val_str(f.get(), 0), value);
    EXPECT_STREQ(value, "v");
}

TEST(GgufPairs, CopyingBothWaysGivesEqualCounts) {
    const Gguf a(gguf_init_empty()), b(gguf_init_empty());
    gguf_set_val_u32(a.get(), "x", 1);
    gguf_set_val_u32(a.get(), "y", 1);
    gguf_set_val_str(b.get(), "y", "b");
    gguf_set_val_u32(b.get(), "z", 1);
    gguf_set_kv(a.get(), b.get());
    gguf_set_kv(b.get(), a.get());
    EXPECT_EQ(gguf_get_n_kv(a.get()), 3);
    EXPECT_EQ(gguf_get_n_kv(b.get()), 3);
    EXPECT_STREQ(gguf_get_val_str(a.get(), gguf_find_key(a.get(), "y")), "b");
}

// Calls that upstream ends the program for: an answer and a text.
TEST(GgufPairs, BadCallsAnswerAndSayWhy) {
    const Gguf g(gguf_init_empty());
    gguf_context* f = g.get();
    gguf_set_val_u32(f, "n", 1);
    gguf_set_val_str(f, "s", "x");
    const auto says = [](const char* part) {
        const std::string text = tenon_last_error();
        EXPECT_NE(text.find(part), std::string::npos) << text;
    };
    tenon_clear_error();
    EXPECT_STREQ(gguf_get_key(f, 2), "");
    says("key id 2 is not in 0..1");
    EXPECT_EQ(gguf_get_val_f32(f, 0), 0.0f);
    says("key 'n': has 1 of type u32, asked for 1 of type f32");
    EXPECT_STREQ(gguf_get_val_str(f, 0), "");
    says("key 'n'");
    EXPECT_EQ(gguf_get_kv_type(f, -1), GGUF_TYPE_COUNT);
    says("-1");
    EXPECT_EQ(gguf_get_arr_type(f, 0), GGUF_TYPE_COUNT);
    says("asked for an array");
    EXPECT_EQ(gguf_get_arr_data(f, 1), nullptr);
    says("key 's'");
    EXPECT_EQ(gguf_get_val_data(f, 1), nullptr);
    says("key 's'");
    EXPECT_STREQ(gguf_get_arr_str(f, 1, 1), "");
    says("asked for string 1");
    EXPECT_EQ(gguf_get_tensor_offset(f, gguf_find_tensor(f, "nope")), 0u);
    says("tensor id -1");
    EXPECT_EQ(gguf_get_tensor_ne(f, 0)[0], 0);
    EXPECT_EQ(gguf_get_tensor_type(f, 0), GGML_TYPE_COUNT);
    EXPECT_STREQ(gguf_get_tensor_name(f, 0), "");
    EXPECT_EQ(gguf_get_tensor_size(f, 0), 0u);
    tenon_clear_error();

    gguf_set_val_u32(f, "", 1);
    says("length is 0");
    gguf_set_val_u32(f, std::string(65536, 'k').c_str(), 1);
    says("length is 65536");
    gguf_set_arr_data(f, "a", GGUF_TYPE_STRING, "x", 1);
    says("of type str");
    gguf_set_arr_data(f, "a", GGUF_TYPE_UINT64, "x", SIZE_MAX / 4);
    says("key 'a'");
    gguf_set_arr_data(f, "a", GGUF_TYPE_UINT64, nullptr, 1);
    says("NULL");
    gguf_set_val_str(f, "a", nullptr);
    says("NULL");
    EXPECT_EQ(gguf_get_n_kv(f), 2);

    gguf_set_tensor_type(f, "nope", GGML_TYPE_F16);
    says("tensor 'nope'");
    gguf_set_tensor_data(f, "nope", "x");
    says("tensor 'nope'");
    gguf_add_tensor(f, nullptr);
    says("NULL");
    EXPECT_EQ(gguf_get_n_kv(nullptr), 0);
    EXPECT_EQ(gguf_find_key(nullptr, "x"), -1);
    EXPECT_EQ(gguf_find_key(f, nullptr), -1);
    gguf_set_val_u32(nullptr, "x", 1);
    says("NULL");
    EXPECT_FALSE(gguf_write_to_file_ptr(f, nullptr, true));
    EXPECT_FALSE(gguf_write_to_file(f, nullptr, true));
    EXPECT_FALSE(gguf_write_to_file(f, "/no/such/directory/f.gguf", true));
    EXPECT_EQ(gguf_get_meta_size(nullptr), 0u);
    tenon_clear_error();
    gguf_free(nullptr);
}

TEST(GgufPairs, TypesHaveNamesAndSizes) {
    EXPECT_STREQ(gguf_type_name(GGUF_TYPE_BOOL), "bool");
    EXPECT_STREQ(gguf_type_name(GGUF_TYPE_FLOAT64), "f64");
    EXPECT_EQ(gguf_type_name(GGUF_TYPE_COUNT), nullptr);
    EXPECT_EQ(gguf_type_size(GGUF_TYPE_UINT64), 8u);
    EXPECT_EQ(gguf_type_size(GGUF_TYPE_STRING), 0u);
    EXPECT_EQ(gguf_type_size(GGUF_TYPE_COUNT), 0u);
}

// ---- tensors and alignment --------------------------------------------------------------------

struct ThreeTensors {
    Gguf file{gguf_init_empty()};
    Ggml ctx = tensors(1 << 16);
    ThreeTensors() {
        for (const char* name : {"a", "b", "c"}) {
            ggml_tensor* t = ggml_new_tensor_2d(ctx.get(), GGML_TYPE_F32, 32, 3);
            ggml_set_name(t, name);
            std::memset(t->data, *name, ggml_nbytes(t));
            gguf_add_tensor(file.get(), t);
        }
    }
    std::vector<size_t> offsets() const {
        std::vector<size_t> out;
        for (int64_t i = 0; i < 3; ++i) out.push_back(gguf_get_tensor_offset(file.get(), i));
        return out;
    }
};

TEST(GgufTensors, AlignmentSetAtAnyTimeMovesEverything) {
    ThreeTensors three;
    EXPECT_EQ(three.offsets(), (std::vector<size_t>{0, 384, 768}));
    gguf_set_val_u32(three.file.get(), "general.alignment", 256);
    EXPECT_EQ(gguf_get_alignment(three.file.get()), 256u);
    EXPECT_EQ(three.offsets(), (std::vector<size_t>{0, 512, 1024}));
    const Bytes bytes = written(three.file.get(), false);
    const Opened in = open_bytes(bytes, Mode::kLoad);
    ASSERT_TRUE(in.file) << in.error;
    EXPECT_EQ(*static_cast<char*>(ggml_get_tensor(in.tensors.get(), "c")->data), 'c');

    EXPECT_EQ(gguf_remove_key(three.file.get(), "general.alignment"), 0);
    EXPECT_EQ(three.offsets(), (std::vector<size_t>{0, 384, 768}));
    EXPECT_TRUE(open_bytes(written(three.file.get(), false), Mode::kLoad).file);
}

TEST(GgufTensors, OnlyAValidAlignmentOfTheRightTypeIsTaken) {
    ThreeTensors three;
    gguf_context* f = three.file.get();
    for (uint32_t bad : {0u, 13u, 1u << 31}) gguf_set_val_u32(f, "general.alignment", bad);
    gguf_set_val_i32(f, "general.alignment", 64);
    gguf_set_val_str(f, "general.alignment", "64");
    const uint32_t one = 64;
    gguf_set_arr_data(f, "general.alignment", GGUF_TYPE_UINT32, &one, 1);
    const char* text = "64";
    gguf_set_arr_str(f, "general.alignment", &text, 1);
    EXPECT_EQ(gguf_get_n_kv(f), 0);
    EXPECT_EQ(gguf_get_alignment(f), 32u);
    tenon_clear_error();
}

TEST(GgufTensors, CopiedMetadataDoesNotChangeTheAlignment) {
    Builder b;
    b.header(0, 2).u32("general.alignment", 64).u32("k", 1).pad(64);
    const Opened source = open_bytes(b.bytes, Mode::kMetaOnly);
    ThreeTensors three;
    gguf_set_kv(three.file.get(), source.file.get());
    EXPECT_EQ(gguf_get_n_kv(three.file.get()), 1) << "a key that disagrees is left out";
    EXPECT_TRUE(open_bytes(written(three.file.get(), false), Mode::kLoad).file);
    gguf_set_val_u32(three.file.get(), "general.alignment", 64);
    gguf_set_kv(three.file.get(), source.file.get());
    EXPECT_EQ(gguf_get_n_kv(three.file.get()), 2) << "one that agrees is copied";
}

TEST(GgufTensors, ChangingATypeMovesLaterTensorsAndKeepsTheMetadataSize) {
    ThreeTensors three;
    const size_t meta = gguf_get_meta_size(three.file.get());
    gguf_set_tensor_type(three.file.get(), "a", GGML_TYPE_Q4_0);
    EXPECT_EQ(gguf_get_tensor_size(three.file.get(), 0), 54u);
    EXPECT_EQ(three.offsets(), (std::vector<size_t>{0, 64, 448}));
    EXPECT_EQ(gguf_get_meta_size(three.file.get()), meta);
    // A block of 256 does not divide a row of 32; a removed type is none.
    tenon_clear_error();
    gguf_set_tensor_type(three.file.get(), "b", GGML_TYPE_Q4_K);
    EXPECT_STREQ(tenon_last_error(),
                 "tensor 'b': q4_K rows are multiples of 256 elements, ne[0] is 32");
    gguf_set_tensor_type(three.file.get(), "b", static_cast<ggml_type>(4));
    EXPECT_EQ(gguf_get_tensor_type(three.file.get(), 1), GGML_TYPE_F32);
    EXPECT_EQ(three.offsets(), (std::vector<size_t>{0, 64, 448}));
    tenon_clear_error();
}

TEST(GgufTensors, ThePlaceholderMethodGivesTheSameFile) {
    ThreeTensors three;
    gguf_context* f = three.file.get();
    gguf_set_val_u32(f, "k", 1);
    const Bytes whole = written(f, false);
    Bytes streamed(gguf_get_meta_size(f), 0);
    for (int64_t i = 0; i < 3; ++i) {
        const ggml_tensor* t = ggml_get_tensor(three.ctx.get(), gguf_get_tensor_name(f, i));
        EXPECT_EQ(streamed.size(), gguf_get_meta_size(f) + gguf_get_tensor_offset(f, i));
        const auto* data = static_cast<const uint8_t*>(t->data);
        streamed.insert(streamed.end(), data, data + ggml_nbytes(t));
        streamed.resize((streamed.size() + 31) / 32 * 32);
    }
    gguf_get_meta_data(f, streamed.data());
    EXPECT_EQ(streamed, whole);
}

TEST(GgufTensors, DuplicatesAndTensorsWithoutDataAreRefused) {
    ThreeTensors three;
    tenon_clear_error();
    gguf_add_tensor(three.file.get(), ggml_get_tensor(three.ctx.get(), "a"));
    EXPECT_STREQ(tenon_last_error(), "tensor 'a': already among the 3 of this file");
    EXPECT_EQ(gguf_get_n_tensors(three.file.get()), 3);

    gguf_set_tensor_data(three.file.get(), "b", nullptr);
    bool ok = true;
    written(three.file.get(), /*only_meta=*/true, &ok);
    EXPECT_TRUE(ok);
    written(three.file.get(), /*only_meta=*/false, &ok);
    EXPECT_FALSE(ok);
    EXPECT_STREQ(tenon_last_error(), "tensor 'b': has no data, 384 bytes to write");
}

TEST(GgufTensors, NonContiguousTensorsHaveMetadataOnly) {
    const Ggml ctx = tensors(1 << 16);
    ggml_tensor* t = ggml_new_tensor_2d(ctx.get(), GGML_TYPE_F32, 6, 6);
    ASSERT_TRUE(t);
    std::swap(t->nb[0], t->nb[1]);  // transposed
    ggml_set_name(t, "view");
    const Gguf f(gguf_init_empty());
    gguf_add_tensor(f.get(), t);
    EXPECT_EQ(gguf_get_n_tensors(f.get()), 1);
    bool ok = false;
    written(f.get(), /*only_meta=*/true, &ok);
    EXPECT_TRUE(ok);
    tenon_clear_error();
    written(f.get(), /*only_meta=*/false, &ok);
    EXPECT_FALSE(ok);
    EXPECT_STREQ(tenon_last_error(), "tensor 'view': not contiguous, cannot be written");
}

TEST(GgufTensors, SizesThatWrapAreRefused) {
    const Ggml ctx = tensors(1 << 16, /*no_alloc=*/true);
    const Gguf f(gguf_init_empty());
    for (const char* name : {"a", "b", "c"}) {
        ggml_tensor* t = ggml_new_tensor_1d(ctx.get(), GGML_TYPE_I8, INT64_MAX - 63);
        ASSERT_TRUE(t);
        ggml_set_name(t, name);
        gguf_add_tensor(f.get(), t);
    }
    EXPECT_EQ(gguf_get_n_tensors(f.get()), 2);
    tenon_clear_error();
}

// ---- failures of the system -------------------------------------------------------------------

TEST(GgufWriter, AFullDeviceIsAnError) {
    if (access("/dev/full", W_OK) != 0) GTEST_SKIP() << "no /dev/full";
    ThreeTensors three;
    tenon_clear_error();
    EXPECT_FALSE(gguf_write_to_file(three.file.get(), "/dev/full", /*only_meta=*/true));
    EXPECT_NE(std::string(tenon_last_error()).find("No space"), std::string::npos);
    const File full(std::fopen("/dev/full", "wb"));
    EXPECT_FALSE(gguf_write_to_file_ptr(three.file.get(), full.get(), /*only_meta=*/false));
    tenon_clear_error();
}

TEST(GgufWriter, OutOfMemoryInASetterForbidsWriting) {
    int failures = 0;
    for (int64_t k = 0;; ++k) {
        const Gguf f(gguf_init_empty());
        gguf_set_val_u32(f.get(), "old", 1);
        const char* words[] = {"a word that needs its own memory", "another one of that kind, too"};
        g_allocations_until_bad = k;
        gguf_set_arr_str(f.get(), "a key that needs its own memory", words, 2);
        const bool failed = g_allocations_until_bad.exchange(-1) < 0;
        EXPECT_EQ(gguf_get_meta_size(f.get()) == 0, failed);
        bool ok;
        written(f.get(), /*only_meta=*/true, &ok);
        EXPECT_EQ(ok, !failed);
        EXPECT_EQ(gguf_get_n_kv(f.get()), failed ? 1 : 2);
        EXPECT_EQ(gguf_find_key(f.get(), "old"), 0);
        tenon_clear_error();
        if (!failed) break;
        ++failures;
    }
    EXPECT_GT(failures, 3);
}

}  // namespace
