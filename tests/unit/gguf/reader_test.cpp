// The model-file reader: the corpus of hostile files, every source, truncation and mutation.

#include <algorithm>
#include <map>
#include <random>

#include "tests/support/allocations.h"
#include "tests/support/gguf_bytes.h"

using namespace tenon::test;

namespace {

constexpr size_t kMiB = size_t{1} << 20;

// What the message of each check must speak of.
const std::map<std::string, std::string> kWords{
    {"H1", "file ends at"},
    {"H2", "magic"},
    {"H3", "version"},
    {"H4", "n_tensors"},
    {"H5", "n_kv"},
    {"K1", "key length"},
    {"K2", "zero byte"},
    {"K3", "seen before"},
    {"K4", "value type"},
    {"K5", "element type"},
    {"K6", "element count"},
    {"K8", "length"},
    {"A1", "general.alignment"},
    {"A2", "power of two"},
    {"T1", "name length"},
    {"T2", "zero byte"},
    {"T3", "seen before"},
    {"T4", "n_dims"},
    {"T5", "below 0"},
    {"T6", "elements before it"},
    {"T7", "type"},
    {"T8", "rows are multiples"},
    {"T9", "blocks of"},
    {"T10", "offset is"},
    {"T11", "pass 2^64"},
    {"T12", "largest file offset"},
    {"D1", "file ends at"},
    {"M2", "data ends at"},
};

TEST(GgufReader, DecidesEveryRowOfTheCorpusAsWritten) {
    const auto cases = corpus();
    ASSERT_EQ(cases.size(), 130u);
    for (const Case& c : cases) {
        for (size_t m = 0; m < 3; ++m) {
            SCOPED_TRACE(c.name + " mode " + std::to_string(m));
            const bool opens = c.result[m] == 'Y';
            const Opened from_buffer = open_bytes(c.bytes, kModes[m]);
            EXPECT_EQ(from_buffer.file != nullptr, opens) << from_buffer.error;
            if (!opens) {
                const auto word = kWords.find(c.check);
                ASSERT_NE(word, kWords.end()) << c.check;
                EXPECT_NE(from_buffer.error.find(word->second), std::string::npos)
                    << c.check << ": " << from_buffer.error;
            }
            const File file = file_with(c.bytes);
            const Opened from_file = open(kModes[m], [&](gguf_init_params params) {
                return gguf_init_from_file_ptr(file.get(), params);
            });
            EXPECT_EQ(from_file.file != nullptr, opens);
            EXPECT_EQ(from_file.error, from_buffer.error);
            for (size_t chunk : {size_t{0}, size_t{1}, size_t{7}, size_t{4096}}) {
                CheckedReader exact{.bytes = c.bytes, .max_chunk = chunk, .bound = c.bytes.size()};
                EXPECT_EQ(open_reader(exact, kModes[m]).file != nullptr, opens);
                // With a bound far beyond the end, the end shows only when reading stops.
                CheckedReader loose{.bytes = c.bytes,
                                    .max_chunk = chunk,
                                    .bound = 4ull << 30,
                                    .all_or_nothing = true};
                EXPECT_EQ(open_reader(loose, kModes[m]).file != nullptr,
                          opens || (c.check == "D1" && kModes[m] != Mode::kLoad));
            }
        }
    }
}

TEST(GgufReader, ErrorsNameTensorOrKeyAndBothNumbers) {
    Builder gap;
    gap.header(2, 0).tensor("a", {4}, GGML_TYPE_F32, 0).tensor("b.w", {4}, GGML_TYPE_F32, 64);
    EXPECT_EQ(open_bytes(gap.pad(32).data(96).bytes, Mode::kMetaOnly).error,
              "tensor 'b.w': offset is 64, must be 32");
    Builder cut;
    cut.header(1, 0).tensor("blk.0", {1000}, GGML_TYPE_F32, 0).pad(32).data(10);
    EXPECT_EQ(open_bytes(cut.bytes, Mode::kLoad).error,
              "tensor 'blk.0': data ends at 4064, file has 74 bytes");
    Builder key;
    key.header(0, 1).text("a.b").number<int32_t>(99).number<uint32_t>(0);
    EXPECT_EQ(open_bytes(key.bytes, Mode::kMetaOnly).error,
              "key 'a.b': value type 99 is not in 0..12");
}

TEST(GgufReader, ReadsTheWorkedExample) {
    const Opened in = open_bytes(example(), Mode::kLoad);
    ASSERT_TRUE(in.file) << in.error;
    const gguf_context* f = in.file.get();
    EXPECT_EQ(gguf_get_version(f), 3u);
    EXPECT_EQ(gguf_get_alignment(f), 32u);
    EXPECT_EQ(gguf_get_data_offset(f), 0x60u);
    EXPECT_EQ(gguf_get_meta_size(f), 0x60u);
    ASSERT_EQ(gguf_get_n_kv(f), 1);
    EXPECT_STREQ(gguf_get_key(f, 0), "a.b");
    EXPECT_EQ(gguf_get_val_u32(f, gguf_find_key(f, "a.b")), 7u);
    ASSERT_EQ(gguf_get_n_tensors(f), 1);
    EXPECT_EQ(gguf_find_tensor(f, "t"), 0);
    EXPECT_EQ(gguf_get_tensor_size(f, 0), 8u);
    EXPECT_EQ(gguf_get_tensor_ne(f, 0)[0], 2);
    EXPECT_EQ(gguf_get_tensor_ne(f, 0)[3], 1);

    // The whole section first, then the tensors inside it.
    ggml_tensor* blob = ggml_get_first_tensor(in.tensors.get());
    EXPECT_STREQ(blob->name, "GGUF tensor data binary blob");
    EXPECT_EQ(blob->type, GGML_TYPE_I8);
    EXPECT_EQ(blob->ne[0], 32);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(blob->data) % 64, 0u);
    ggml_tensor* t = ggml_get_next_tensor(in.tensors.get(), blob);
    EXPECT_EQ(t, ggml_get_tensor(in.tensors.get(), "t"));
    EXPECT_EQ(t->data, blob->data);
    EXPECT_EQ(static_cast<float*>(t->data)[1], 2.0f);
    EXPECT_EQ(ggml_get_next_tensor(in.tensors.get(), t), nullptr);
    EXPECT_FALSE(ggml_get_no_alloc(in.tensors.get()));
}

TEST(GgufReader, WithoutDataTensorsHaveNone) {
    const Opened in = open_bytes(example(), Mode::kNoAlloc);
    ggml_tensor* t = ggml_get_first_tensor(in.tensors.get());
    ASSERT_TRUE(t);
    EXPECT_STREQ(t->name, "t");
    EXPECT_EQ(t->data, nullptr);
    EXPECT_EQ(ggml_get_next_tensor(in.tensors.get(), t), nullptr);
    EXPECT_TRUE(ggml_get_no_alloc(in.tensors.get()));
}

TEST(GgufReader, DataIsAlignedAsTheFileAsksUpToAPage) {
    for (uint32_t alignment : {1u, 64u, 1024u, 4096u, 65536u}) {
        Builder b;
        b.header(1, 1).u32("general.alignment", alignment).tensor("t", {4}, GGML_TYPE_F32, 0);
        const Opened in = open_bytes(b.pad(alignment).data(16).pad(alignment).bytes, Mode::kLoad);
        ASSERT_TRUE(in.file) << in.error;
        const auto data = reinterpret_cast<uintptr_t>(ggml_get_tensor(in.tensors.get(), "t")->data);
        EXPECT_EQ(data % std::clamp(alignment, 64u, 4096u), 0u) << alignment;
        EXPECT_EQ(*reinterpret_cast<uint8_t*>(data), 1);
    }
}

TEST(GgufReader, EitherContextMayBeFreedFirst) {
    Opened in = open_bytes(example(), Mode::kLoad);
    in.file.reset();
    EXPECT_EQ(static_cast<float*>(ggml_get_tensor(in.tensors.get(), "t")->data)[0], 1.0f);
}

TEST(GgufReader, EveryPrefixBeforeTheDataFailsAndEveryOtherOpens) {
    const Bytes whole = read_bytes(TENON_TEST_DATA "/data/stories260K.gguf");
    const Opened in = open_bytes(whole, Mode::kMetaOnly);
    ASSERT_TRUE(in.file) << in.error;
    const size_t data = gguf_get_data_offset(in.file.get());
    for (size_t n = 1; n < data + 50; n += n + 200 < data && n > 300 ? 61 : 1) {
        const Bytes prefix(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(n));
        EXPECT_EQ(open_bytes(prefix, Mode::kMetaOnly).file != nullptr, n >= data) << n;
        EXPECT_FALSE(open_bytes(prefix, Mode::kLoad).file) << n;
    }
}

TEST(GgufReader, SurvivesEveryMutationOfAByteInLittleMemory) {
    const Bytes good = example();
    for (size_t at = 0; at < good.size(); ++at) {
        for (int value = 0; value < 256; ++value) {
            Bytes bad = good;
            bad[at] = static_cast<uint8_t>(value);
            for (Mode mode : kModes) {
                g_largest_allocation = 0;
                const Opened in = open_bytes(bad, mode);
                EXPECT_LE(g_largest_allocation.load(), kMiB) << at << " = " << value;
            }
        }
    }
}

TEST(GgufReader, SurvivesRandomDamage) {
    const Bytes model = read_bytes(TENON_TEST_DATA "/data/stories260K.gguf");
    Builder kinds;  // every kind of value, two tensors
    kinds.header(2, 3).u32("general.alignment", 64);
    kinds.text("strs").number<int32_t>(GGUF_TYPE_ARRAY).number<int32_t>(GGUF_TYPE_STRING);
    kinds.number<uint64_t>(3).text("a").text("").text("ccc");
    kinds.text("nums").number<int32_t>(GGUF_TYPE_ARRAY).number<int32_t>(GGUF_TYPE_UINT64);
    kinds.number<uint64_t>(2).number<uint64_t>(1).number<uint64_t>(2);
    kinds.tensor("a", {32, 2}, GGML_TYPE_Q4_0, 0).tensor("b", {3, 0, 2}, GGML_TYPE_F16, 64);
    kinds.pad(64).data(64);
    ASSERT_TRUE(open_bytes(kinds.bytes, Mode::kLoad).file);
    const Bytes head(model.begin(), model.begin() + 20000);

    std::mt19937_64 random(20240229);
    constexpr uint64_t kNasty[] = {0,
                                   1,
                                   0x7F,
                                   0xFF,
                                   0xFFFF,
                                   1ull << 31,
                                   (1ull << 32) - 1,
                                   1ull << 61,
                                   1ull << 63,
                                   (1ull << 63) - 1,
                                   UINT64_MAX,
                                   UINT64_MAX - 31};
    for (int round = 0; round < 6000; ++round) {
        Bytes bad = round % 4 == 0 ? head : kinds.bytes;
        for (uint64_t edits = 1 + random() % 4; edits > 0; --edits) {
            const size_t at = random() % (bad.size() - 8);
            const uint64_t value = random() % 2 ? kNasty[random() % std::size(kNasty)] : random();
            std::memcpy(bad.data() + at, &value, 1 + random() % 8);
        }
        if (random() % 4 == 0) bad.resize(1 + random() % bad.size());
        const Mode mode = kModes[random() % 3];
        const Opened from_buffer = open_bytes(bad, mode);
        CheckedReader reader{.bytes = bad,
                             .max_chunk = 1 + random() % 5000,
                             .bound = random() % 2 ? bad.size() : 4ull << 30};
        g_largest_allocation = 0;
        const Opened from_callback = open_reader(reader, mode);
        EXPECT_LE(g_largest_allocation.load(), 17 * kMiB);
        if (from_buffer.file) {
            EXPECT_TRUE(from_callback.file) << from_callback.error;
            // What was read can be written and read again.
            const Bytes again = written(from_buffer.file.get(), /*only_meta=*/true);
            EXPECT_TRUE(open_bytes(again, Mode::kMetaOnly).file);
        }
    }
}

TEST(GgufReader, ClaimsOfACallbackTakeNoMemoryUntilBytesArrive) {
    Builder b;
    b.header(0, 1).text("k").number<int32_t>(GGUF_TYPE_ARRAY).number<int32_t>(GGUF_TYPE_UINT64);
    b.number<uint64_t>(1 << 29).data(100);
    CheckedReader reader{.bytes = b.bytes, .max_chunk = 0, .bound = 1ull << 40};
    g_largest_allocation = 0;
    const Opened in = open_reader(reader, Mode::kMetaOnly);
    EXPECT_FALSE(in.file);
    EXPECT_LE(g_largest_allocation.load(), 16 * kMiB);
    EXPECT_NE(in.error.find("key 'k': elements needs"), std::string::npos) << in.error;
}

TEST(GgufReader, ReadsAheadOnlyWhatMustExist) {
    // A vocabulary: each string promises eight bytes, so calls are few.
    Builder b;
    b.header(0, 1).text("tokens").number<int32_t>(GGUF_TYPE_ARRAY);
    b.number<int32_t>(GGUF_TYPE_STRING).number<uint64_t>(20000);
    for (int i = 0; i < 20000; ++i) b.text("token" + std::to_string(i));
    struct Counted {
        CheckedReader reader;
        int calls = 0;
    } counted{{.bytes = b.bytes, .max_chunk = 0, .bound = 4ull << 30, .all_or_nothing = true}};
    const auto read = [](void* user, void* output, uint64_t offset, size_t length) {
        auto& self = *static_cast<Counted*>(user);
        ++self.calls;
        return CheckedReader::read(&self.reader, output, offset, length);
    };
    const Gguf in(gguf_init_from_callback(read, &counted, 0, 4ull << 30, {false, nullptr}));
    ASSERT_TRUE(in) << tenon_last_error();
    EXPECT_STREQ(gguf_get_arr_str(in.get(), 0, 19999), "token19999");
    EXPECT_LT(counted.calls, 40);
}

TEST(GgufReader, RefusesACallbackThatClaimsMoreThanAsked) {
    const auto read = [](void*, void*, uint64_t, size_t length) { return length + 1; };
    tenon_clear_error();
    EXPECT_FALSE(gguf_init_from_callback(read, nullptr, 0, 1000, {false, nullptr}));
    EXPECT_NE(std::string(tenon_last_error()).find("more bytes than were asked for"),
              std::string::npos);
}

TEST(GgufReader, CallbackMayStopAnywhere) {
    const Bytes good = example();
    for (size_t end = 0; end <= good.size(); ++end) {
        const Bytes part(good.begin(), good.begin() + static_cast<ptrdiff_t>(end));
        for (bool all_or_nothing : {false, true}) {
            CheckedReader reader{.bytes = part,
                                 .max_chunk = 0,
                                 .bound = good.size(),
                                 .all_or_nothing = all_or_nothing};
            EXPECT_EQ(open_reader(reader, Mode::kLoad).file != nullptr, end == good.size()) << end;
        }
    }
}

TEST(GgufReader, AStreamMayStartAnywhere) {
    Bytes shifted = {1, 2, 3, 4, 5};
    const Bytes good = example();
    shifted.insert(shifted.end(), good.begin(), good.end());
    const File file = file_with(shifted);
    std::fseek(file.get(), 5, SEEK_SET);
    const Opened in = open(Mode::kLoad, [&](gguf_init_params params) {
        return gguf_init_from_file_ptr(file.get(), params);
    });
    ASSERT_TRUE(in.file) << in.error;
    // Padding counts from the start of the model; the offset is where a caller seeks to.
    EXPECT_EQ(gguf_get_data_offset(in.file.get()), 5u + 0x60u);
    EXPECT_EQ(static_cast<float*>(ggml_get_tensor(in.tensors.get(), "t")->data)[1], 2.0f);
}

TEST(GgufReader, RefusesWhatIsNoFile) {
    ggml_context* tensors = nullptr;
    for (const char* path : {static_cast<const char*>(nullptr), "", "/no/such/file", "/tmp",
                             "/dev/null", "/dev/zero"}) {
        const Opened in = open(Mode::kLoad, [&](gguf_init_params params) {
            return gguf_init_from_file(path, params);
        });
        EXPECT_FALSE(in.file) << path;
    }
    EXPECT_FALSE(gguf_init_from_file_ptr(nullptr, {false, &tensors}));
    EXPECT_FALSE(gguf_init_from_buffer(nullptr, 5, {false, &tensors}));
    EXPECT_FALSE(gguf_init_from_buffer("GGUF", 0, {false, &tensors}));
    EXPECT_FALSE(gguf_init_from_callback(nullptr, nullptr, 0, 100, {false, &tensors}));
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(popen("cat /dev/null", "r"), pclose);
    EXPECT_FALSE(gguf_init_from_file_ptr(pipe.get(), {false, &tensors}));
    EXPECT_EQ(tensors, nullptr);
}

TEST(GgufReader, OpensAFileByName) {
    const Opened in = open(Mode::kLoad, [](gguf_init_params params) {
        return gguf_init_from_file(TENON_TEST_DATA "/data/stories260K.gguf", params);
    });
    ASSERT_TRUE(in.file) << in.error;
    const gguf_context* f = in.file.get();
    EXPECT_STREQ(gguf_get_val_str(f, gguf_find_key(f, "general.architecture")), "llama");
    const int64_t tokens = gguf_find_key(f, "tokenizer.ggml.tokens");
    EXPECT_EQ(gguf_get_kv_type(f, tokens), GGUF_TYPE_ARRAY);
    EXPECT_EQ(gguf_get_arr_type(f, tokens), GGUF_TYPE_STRING);
    EXPECT_EQ(gguf_get_arr_n(f, tokens), 512u);
}

TEST(GgufReader, RunsOutOfMemoryGracefullyAtEveryAllocation) {
    Builder b;
    b.header(2, 2).u32("n", 1);
    b.text("s").number<int32_t>(GGUF_TYPE_ARRAY).number<int32_t>(GGUF_TYPE_STRING);
    b.number<uint64_t>(2).text("one").text("two");
    b.tensor("a", {4}, GGML_TYPE_F32, 0).tensor("b", {4}, GGML_TYPE_F32, 32).pad(32).data(64);
    int failures = 0;
    for (int64_t k = 0;; ++k) {
        ggml_context* tensors = nullptr;
        g_allocations_until_bad = k;
        const Gguf in(gguf_init_from_buffer(b.bytes.data(), b.bytes.size(), {false, &tensors}));
        g_allocations_until_bad = -1;
        const Ggml owned(tensors);
        if (in) break;
        EXPECT_EQ(tensors, nullptr);
        EXPECT_NE(std::string(tenon_last_error()).find("out of host memory"), std::string::npos);
        ++failures;
    }
    EXPECT_GT(failures, 10);
}

}  // namespace
