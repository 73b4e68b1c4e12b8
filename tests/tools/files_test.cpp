// Every tool with every kind of file that is not what it should be: an end in words, soon, and
// without taking the machine's memory.

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <functional>

#include "tests/support/program.h"

using namespace tenon::test;

namespace {

const std::string kModel = TENON_TEST_DATA "/data/stories260K.gguf";

// A sanitizer needs more addresses than a limit leaves.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr const char* kLimits = "timeout 120";
#else
constexpr const char* kLimits = "ulimit -v 1048576; timeout 120";
#endif

template <class T>
std::string bytes(T value) {
    return {reinterpret_cast<const char*>(&value), sizeof value};
}
std::string text(const std::string& s) { return bytes(uint64_t{s.size()}) + s; }

std::string header(uint64_t n_tensors, uint64_t n_kv) {
    return "GGUF" + bytes(uint32_t{3}) + bytes(n_tensors) + bytes(n_kv);
}

// A model of one tensor, which its 192 bytes do not hold.
std::string claiming(uint32_t type, const std::vector<uint64_t>& ne) {
    std::string file = header(1, 1) + text("general.architecture") + bytes(uint32_t{8}) +
                       text("llama") + text("big") + bytes(static_cast<uint32_t>(ne.size()));
    for (const uint64_t n : ne) file += bytes(n);
    file += bytes(type) + bytes(uint64_t{0});
    file.resize(std::max<size_t>(192, file.size()), '\0');
    return file;
}

void write(const std::string& path, const std::string& content) {
    std::ofstream(path, std::ios::binary) << content;
}

// Where the files are; each has the name of what is wrong with it.
class BadFiles {
public:
    BadFiles() {
        write(path("claims-a-vector"), claiming(0, {uint64_t{6} << 28}));
        write(path("claims-a-row"), claiming(8, {uint64_t{1} << 36, 2}));
        write(path("claims-rows"), claiming(0, {32, uint64_t{1} << 34}));
        write(path("claims-keys"), header(0, uint64_t{1} << 40));
        write(path("empty"), "");
        write(path("text"), "no model\n");
        mkfifo(path("pipe").c_str(), 0600);
        mkdir(path("directory").c_str(), 0700);
        EXPECT_EQ(symlink("nowhere", path("dangling").c_str()), 0);
        EXPECT_EQ(symlink("/dev/zero", path("zeros").c_str()), 0);
        names_ = directory_.names();
        // A disk's worth of zeros, all of them one key.
        write(path("holes"), header(0, 1) + text("a") + bytes(uint32_t{9}) + bytes(uint32_t{0}) +
                                 bytes(uint64_t{1} << 38));
        if (truncate(path("holes").c_str(), int64_t{1} << 39) == 0) names_.emplace_back("holes");
        write(path("unreadable"), "GGUF");
        chmod(path("unreadable").c_str(), 0);
        if (geteuid() != 0) names_.emplace_back("unreadable");
    }
    std::string path(const std::string& name) const { return directory_.file(name); }
    const std::vector<std::string>& names() const { return names_; }

private:
    TemporaryDirectory directory_;
    std::vector<std::string> names_;
};

// Runs a tool with each of the files; `but` are those it may take.
void expect_refused(const char* tool,
                    const std::function<std::vector<std::string>(const std::string&)>& args,
                    const std::vector<std::string>& but = {}) {
    const BadFiles files;
    for (const std::string& name : files.names()) {
        const Outcome got = run_program(tool, args(files.path(name)), kLimits);
        const std::string said = name + ": " + got.out + got.err;
        EXPECT_NE(got.code, 124) << "did not end: " << said;
        EXPECT_NE(got.code, -1) << said;
        EXPECT_LT(got.code, 126) << said;
        EXPECT_NE(got.out + got.err, "") << name;
        EXPECT_FALSE(has(got.err, "out of host memory")) << said;
        const bool allowed = std::find(but.begin(), but.end(), name) != but.end();
        EXPECT_TRUE(allowed || got.code != 0) << said;
    }
}

using Words = std::vector<std::string>;

const std::vector<std::string> kIncomplete{"claims-a-vector", "claims-a-row", "claims-rows"};

TEST(BadFile, RtGgufShowSaysSo) {
    expect_refused(
        TENON_RT_GGUF,
        [](const std::string& file) {
            return Words{"show", file};
        },
        kIncomplete);  // shown, and called incomplete
}

TEST(BadFile, RtGgufCheckSaysSo) {
    expect_refused(TENON_RT_GGUF, [](const std::string& file) { return Words{"check", file}; });
}

TEST(BadFile, RtGgufCompareSaysSo) {
    expect_refused(TENON_RT_GGUF, [](const std::string& file) {
        return Words{"compare", file, file};
    });
    expect_refused(TENON_RT_GGUF, [](const std::string& file) {
        return Words{"compare", kModel, file};
    });
}

TEST(BadFile, RtGgufQuantizeSaysSo) {
    const TemporaryDirectory out;
    expect_refused(TENON_RT_GGUF, [&](const std::string& file) {
        return Words{"quantize", file, out.file("q"), "--type", "q8_0"};
    });
    expect_refused(TENON_RT_GGUF, [&](const std::string& file) {
        return Words{"quantize", kModel, out.file("q"), "--type", "q4_0", "--imatrix", file};
    });
    EXPECT_TRUE(out.names().empty());
}

TEST(BadFile, RtRunSaysSo) {
    for (const bool mapped : {true, false}) {
        expect_refused(TENON_RT_RUN, [&](const std::string& file) {
            Words words{file, "-p", "Once", "-n", "1", "-t", "1"};
            if (!mapped) words.emplace_back("--no-mmap");
            return words;
        });
    }
}

TEST(BadFile, RtRunEvalSaysSo) {
    const Words texts{"claims-a-vector", "claims-a-row", "claims-rows", "claims-keys", "text"};
    expect_refused(
        TENON_RT_RUN,
        [](const std::string& file) {
            return Words{kModel, "-t", "1", "--eval", file};
        },
        texts);
}

TEST(BadFile, RtBenchSaysSo) {
    expect_refused(TENON_RT_BENCH, [](const std::string& file) {
        return Words{"model", "--repetitions", "1", "--min-time", "0.001", "--model", file};
    });
}

TEST(BadFile, RtInfoSaysSo) {
    expect_refused(TENON_RT_INFO, [](const std::string& file) {
        return Words{"--plugin", file, "--strict"};
    });
    expect_refused(TENON_RT_INFO, [](const std::string& file) {
        return Words{"--plugin-path", file};
    });
}

TEST(BadFile, RtPluginTestSaysSo) {
    expect_refused(TENON_RT_PLUGIN_TEST, [](const std::string& file) { return Words{file}; });
}

// The text names file and fault, not only the tool's distress.
TEST(BadFile, TheTextNamesFileAndFault) {
    const BadFiles files;
    const auto says = [&](const char* name, const std::string& part) {
        const std::string path = files.path(name);
        for (const Words& words : {Words{"compare", path, kModel}, Words{"check", path}}) {
            const Outcome got = run_program(TENON_RT_GGUF, words, kLimits);
            EXPECT_TRUE(has(got.err + got.out, part)) << got.err << got.out;
            EXPECT_TRUE(has(got.err + got.out, path)) << got.err << got.out;
        }
    };
    says("pipe", "': it is a pipe, not a regular file");
    says("directory", "': it is a directory, not a regular file");
    says("zeros", "': it is a device, not a regular file");
    says("dangling", "': No such file or directory");
    says("empty", "magic needs 4 bytes");
    says("claims-keys", "n_kv is 1099511627776");
    const Outcome big = run_program(
        TENON_RT_GGUF, {"compare", files.path("claims-a-vector"), files.path("claims-a-vector")},
        kLimits);
    EXPECT_EQ(big.code, 1);
    EXPECT_TRUE(has(big.err, "tensor 'big': data ends at 6442451")) << big.err;
    EXPECT_TRUE(has(big.err, "file has 192 bytes")) << big.err;
}

}  // namespace
