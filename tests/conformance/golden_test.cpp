// Every golden file on the CPU: no graph may fail, and none may be refused. Damaged ones fail in
// words.

#include "tests/conformance/golden.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "ggml-cpp.h"
#include "sdk/conformance/compare.h"
#include "sdk/conformance/devices.h"
#include "tests/support/program.h"
#include "tests/support/variant.h"

namespace {

using namespace tenon::conformance;

std::vector<std::string> all_files() {
    std::vector<std::string> files = golden_files(TENON_TEST_DATA "/golden/ops");
    for (const std::string& file : golden_files(TENON_TEST_DATA "/golden/types"))
        files.push_back(file);
    return files;
}

// A recorded index that is none must fail its graph, like any other wrong value.
TEST(Selections, OutOfRangeInTheRecordIsAFailure) {
    ggml_context_ptr ctx(ggml_init({1 << 16, nullptr, /*no_alloc=*/true}));
    const ggml_tensor* keys = ggml_new_tensor_2d(ctx.get(), GGML_TYPE_F32, 3, 2);
    const ggml_tensor* order = ggml_new_tensor_2d(ctx.get(), GGML_TYPE_I32, 2, 2);
    const std::vector<double> values{1, 2, 3, 6, 5, 4}, sound{2, 1, 0, 1};
    const auto passes = [&](const std::vector<double>& want, const std::vector<double>& of) {
        return compare_selections(*order, want, sound, *keys, of).ok;
    };
    EXPECT_TRUE(passes(sound, values));
    EXPECT_FALSE(passes({2, 1, 0, -1}, values));
    EXPECT_FALSE(passes({2, 1, 0, 1e9}, values));
    EXPECT_FALSE(passes(sound, {1, 2, 3}));
}

// ---- damaged files, and the program itself ----

namespace test = tenon::test;
using test::has;

std::string golden(const std::string& name) {
    return test::contents(TENON_TEST_DATA "/golden/" + name);
}

void write(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary).write(bytes.data(), std::ssize(bytes));
}

ggml_backend_ptr cpu() {
    return ggml_backend_ptr(ggml_backend_init_by_type(GGML_BACKEND_DEVICE_TYPE_CPU, nullptr));
}

// What fails in a file, and how many results it has. Types need their inputs beside it.
struct Findings {
    size_t n = 0;
    std::vector<std::string> failures;
    std::string first() const { return failures.empty() ? "" : failures[0]; }
};
Findings check(const std::string& bytes, bool with_inputs = true) {
    const test::TemporaryDirectory directory;
    if (with_inputs) write(directory.file("inputs.bin"), golden("types/inputs.bin"));
    write(directory.file("x.bin"), bytes);
    const ggml_backend_ptr backend = cpu();
    Findings found;
    const auto note = [&](const GoldenResult& r) {
        ++found.n;
        if (r.outcome == Outcome::kFailed) found.failures.push_back(r.message);
    };
    run_golden_file(backend.get(), directory.file("x.bin"), note, misfit);
    return found;
}

std::string with_byte(std::string bytes, size_t at, unsigned char value) {
    bytes.at(at) = static_cast<char>(value);
    return bytes;
}

TEST(DamagedTypeFile, CountsThatDoNotFitTheBytesAreOneFailure) {
    TENON_REQUIRE_VARIANT();
    const std::string file = golden("types/q8_0.bin");
    for (const size_t at : {40, 41, 42, 43, 45, 46, 47}) {  // rows and row length, first section
        const Findings found = check(with_byte(file, at, 0x7f));
        EXPECT_EQ(found.n, 1u) << at;
        EXPECT_TRUE(has(found.first(), "x.bin: section 1, case 0, bytes of ")) << found.first();
        EXPECT_TRUE(has(found.first(), ": 544, must be ")) << found.first();
    }
}

TEST(DamagedTypeFile, AnUnknownTypeAndNoInputsAreFailures) {
    TENON_REQUIRE_VARIANT();
    const std::string file = golden("types/q8_0.bin");
    EXPECT_TRUE(has(check(with_byte(file, 8, 4)).first(), "x.bin: type 4 does not exist"));
    EXPECT_TRUE(has(check(file, /*with_inputs=*/false).first(), "inputs.bin: no such file"));
    EXPECT_EQ(check(file).first(), "");
}

TEST(DamagedOpFile, ALeafThatDoesNotFitItsBytesFailsItsGraph) {
    TENON_REQUIRE_VARIANT();
    const Findings found = check(with_byte(golden("ops/MUL_MAT_HADAMARD.bin"), 257, 0x7f));
    EXPECT_EQ(found.n, 2u);
    EXPECT_EQ(found.first(), "tensor 0 'a': covers 532692992 bytes, recorded 16384");
}

TEST(DamagedOpFile, MoreGraphsThanThereAreBytesIsOneFailure) {
    TENON_REQUIRE_VARIANT();
    const Findings found = check(with_byte(golden("ops/ABS.bin"), 11, 0xff));
    EXPECT_EQ(found.n, 1u);
    EXPECT_TRUE(has(found.first(), "bytes wanted at ")) << found.first();
}

// The graphs of a file, one changed, on the CPU: what that one's result says.
std::string complaint(const std::string& file, const std::function<bool(GoldenGraph&)>& change) {
    const ggml_backend_ptr backend = cpu();
    for (GoldenGraph& graph : read_golden_ops(TENON_TEST_DATA "/golden/ops/" + file)) {
        if (!change(graph)) continue;
        std::string message;
        run_golden_graph(
            backend.get(), graph,
            [&](const GoldenResult& r) {
                message = r.outcome == Outcome::kFailed ? r.message : "did not fail";
            },
            misfit);
        return message;
    }
    return "no such graph";
}

TEST(DamagedOpFile, ANodeThatItsOpWouldNotMakeFailsItsGraph) {
    TENON_REQUIRE_VARIANT();
    // both shapes as many bytes as before
    const auto turned = [](size_t i) {
        return [i](GoldenGraph& graph) {
            GoldenTensor& t = graph.tensors[i];
            if (t.ne[0] == t.ne[1]) return false;
            std::swap(t.ne[0], t.ne[1]);
            t.nb[1] = t.nb[0] * static_cast<uint64_t>(t.ne[0]);
            return true;
        };
    };
    EXPECT_TRUE(has(complaint("OUT_PROD.bin", turned(0)), "OUT_PROD"))
        << complaint("OUT_PROD.bin", turned(0));
    EXPECT_TRUE(has(complaint("SQR.bin", turned(1)), ", must be "))
        << complaint("SQR.bin", turned(1));
    const auto lonely = [](GoldenGraph& graph) {
        graph.tensors.back().src[0] = -1;
        return true;
    };
    EXPECT_TRUE(has(complaint("SQR.bin", lonely), "(SQR): source 0 of 1 is null"));
    const auto custom = [](GoldenGraph& graph) {
        graph.tensors.back().op = "MAP_CUSTOM1";
        return true;
    };
    EXPECT_TRUE(has(complaint("SQR.bin", custom), "calls a function"));
    const auto later = [](GoldenGraph& graph) {
        graph.tensors.back().src[0] = static_cast<int32_t>(graph.tensors.size()) - 1;
        return true;
    };
    EXPECT_TRUE(has(complaint("SQR.bin", later), "come before it"));
}

TEST(DamagedOpFile, AViewOutsideItsSourceFailsItsGraph) {
    TENON_REQUIRE_VARIANT();
    const auto first_view = [](void (*damage)(GoldenTensor&)) {
        return [damage](GoldenGraph& graph) {
            for (GoldenTensor& t : graph.tensors) {
                if (t.kind != GoldenTensor::kView || t.ne[1] < 2) continue;
                damage(t);
                return true;
            }
            return false;
        };
    };
    const auto offset = [](GoldenTensor& t) { t.view_offs += 4; };
    const auto wrapped = [](GoldenTensor& t) { t.view_offs = UINT64_MAX - 3; };
    const auto stride = [](GoldenTensor& t) { t.nb[1] = uint64_t{1} << 63; };
    for (const auto damage : {+offset, +wrapped}) {
        EXPECT_TRUE(has(complaint("CONT.bin", first_view(damage)), ", its source has "));
    }
    EXPECT_FALSE(has(complaint("CONT.bin", first_view(stride)), "did not fail"));
}

// The program; an emulated one cannot be started from here.
class GoldenCheck : public testing::Test {
protected:
    void SetUp() override {
        if (TENON_EMULATED) GTEST_SKIP() << "runs under an emulator";
    }
};

TEST_F(GoldenCheck, OutputThatCannotBeWrittenIsAnError) {
    TENON_REQUIRE_VARIANT();
    const std::string path = TENON_TEST_DATA "/golden/ops/ARANGE.bin";
    const std::string command = test::quoted(TENON_GOLDEN_CHECK) + " " + test::quoted(path);
    const auto full = test::run_program("/bin/sh", {"-c", command + " >/dev/full"});
    EXPECT_EQ(full.code, 1);
    EXPECT_TRUE(has(full.err, "the output could not be written")) << full.err;
}

TEST_F(GoldenCheck, WhatIsNoRegularFileIsRefusedAtOnce) {
    TENON_REQUIRE_VARIANT();
    const test::TemporaryDirectory directory;
    ASSERT_EQ(mkfifo(directory.file("x.bin").c_str(), 0600), 0);
    for (const std::string& path : {directory.file("x.bin"), std::string("/dev/zero")}) {
        const auto outcome = test::run_program(TENON_GOLDEN_CHECK, {path});
        EXPECT_EQ(outcome.code, 1);
        EXPECT_TRUE(has(outcome.out, path + ": not a regular file")) << outcome.out;
    }
}

TEST_F(GoldenCheck, OptionsWithoutAValueAreUsageErrors) {
    const std::string path = TENON_TEST_DATA "/golden/ops/ARANGE.bin";
    using Words = std::vector<std::string>;
    for (const std::string option : {"--device", "--variant"}) {
        for (const Words& words : {Words{path, option}, Words{option, "", path}}) {
            const auto outcome = test::run_program(TENON_GOLDEN_CHECK, words);
            EXPECT_EQ(outcome.code, 2);
            EXPECT_TRUE(has(outcome.err, option + " needs a name")) << outcome.err;
        }
    }
    const auto unknown = test::run_program(TENON_GOLDEN_CHECK, {"--devices", path});
    EXPECT_EQ(unknown.code, 2);
    EXPECT_TRUE(has(unknown.err, "unknown option '--devices'")) << unknown.err;
}

TEST_F(GoldenCheck, HelpIsAnAnswer) {
    const auto help = test::run_program(TENON_GOLDEN_CHECK, {"--help"});
    EXPECT_EQ(help.code, 0);
    EXPECT_TRUE(help.out.starts_with("usage: golden-check ")) << help.out;
    EXPECT_EQ(help.err, "");
}

class Golden : public testing::TestWithParam<std::string> {};

void run_file(ggml_backend_t backend, const std::string& path) {
    size_t n = 0;
    run_golden_file(
        backend, path,
        [&](const GoldenResult& r) {
            ++n;
            EXPECT_NE(r.outcome, Outcome::kFailed)
                << r.name << "(" << r.params << "): " << r.message;
            if (is_golden_ops(path) && r.message != kWrongRecord) {
                EXPECT_NE(r.outcome, Outcome::kSkipped)
                    << r.name << "(" << r.params << "): " << r.message;
            }
        },
        misfit);
    EXPECT_GT(n, 0u);
}

TEST_P(Golden, ValuesAreReproduced) {
    TENON_REQUIRE_VARIANT();
    ggml_backend_ptr backend(ggml_backend_init_by_type(GGML_BACKEND_DEVICE_TYPE_CPU, nullptr));
    ASSERT_TRUE(backend);
    run_file(backend.get(), GetParam());
}

// With reference kernels: no nodes computed at once, no shortcuts.
TEST_P(Golden, ReferenceKernelsReproduceTheValues) {
    TENON_REQUIRE_VARIANT();
    if (!is_golden_ops(GetParam())) GTEST_SKIP() << "blocks of a type are computed by no stream";
    ggml_backend_ptr backend(ggml_backend_init_by_type(GGML_BACKEND_DEVICE_TYPE_CPU, nullptr));
    ASSERT_TRUE(backend);
    use_reference_kernels(backend.get());
    run_file(backend.get(), GetParam());
}

INSTANTIATE_TEST_SUITE_P(Files, Golden, testing::ValuesIn(all_files()), [](const auto& file) {
    return std::filesystem::path(file.param).stem().string();
});

}  // namespace
