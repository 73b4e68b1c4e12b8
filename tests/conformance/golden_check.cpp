// golden-check DIR|FILE… [--device NAME] [--variant NAME] [--verbose] [--help]: computes recorded
// graphs and blocks on every device found and compares with the recorded values. One line per
// failure, then "N passed, N failed, N skipped". Exit: 0 all passed, 1 failures, 2 usage or nothing
// to run.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "ggml-cpp.h"
#include "tenon/tenon.h"
#include "tests/conformance/golden.h"

namespace {

using namespace tenon::conformance;

struct Options {
    std::vector<std::string> paths;
    std::string device, variant;  // "": any
    bool verbose = false, help = false;
};

struct Counts {
    size_t passed = 0, failed = 0, skipped = 0;
};

constexpr char kUsage[] =
    "usage: golden-check DIR|FILE... [--device NAME] [--variant NAME] [--verbose]\n";

// Text from a file or the command line: control characters become '?'.
std::string printable(std::string text) {
    std::replace_if(
        text.begin(), text.end(), [](unsigned char c) { return c < ' ' || c == 127; }, '?');
    return text;
}

int usage(const std::string& why) {
    std::fprintf(stderr, "golden-check: %s\n%s", printable(why).c_str(), kUsage);
    return 2;
}

// Reads the command line; else says why not.
bool parse(int argc, char** argv, Options& options, std::string& why) {
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        if (word == "--verbose") {
            options.verbose = true;
        } else if (word == "--help") {
            options.help = true;
        } else if (word == "--device" || word == "--variant") {
            std::string& value = word == "--device" ? options.device : options.variant;
            value = i + 1 < argc ? argv[++i] : "";
            if (value.empty()) {
                why = word + " needs a name";
                return false;
            }
        } else if (word.starts_with("--")) {
            why = "unknown option '" + word + "'";
            return false;
        } else {
            options.paths.push_back(word);
        }
    }
    return true;
}

// Whether the CPU plugin of that name runs; else `valid` gets those that could.
bool is_in_use(const std::string& variant, std::string& valid) {
    ggml_backend_load_all();
    bool found = false;
    for (size_t i = 0; i < tenon_plugin_count(); ++i) {
        tenon_plugin_report report{};
        report.struct_size = sizeof report;
        if (!tenon_plugin_get(i, &report) || std::string(report.family) != "cpu") continue;
        if (std::string(report.state) != "cpu-features") {
            valid += (valid.empty() ? "" : ", ") + std::string(report.variant);
        }
        found |= report.reg && report.variant == variant;
    }
    return found;
}

void run_on(ggml_backend_dev_t device, const Options& options,
            const std::vector<std::string>& files, Counts& counts) {
    ggml_backend_ptr backend(ggml_backend_dev_init(device, nullptr));
    const char* name = ggml_backend_dev_name(device);
    if (!backend) {
        std::printf("FAILED %s: %s\n", name, tenon_last_error());
        ++counts.failed;
        return;
    }
    for (const std::string& file : files) {
        const auto count = [&](const GoldenResult& r) {
            const bool failed = r.outcome == Outcome::kFailed,
                       skipped = r.outcome == Outcome::kSkipped;
            (failed ? counts.failed : skipped ? counts.skipped : counts.passed)++;
            if (failed || options.verbose) {
                std::printf("%s %s %s(%s): %s\n",
                            failed    ? "FAILED"
                            : skipped ? "skipped"
                                      : "passed",
                            name, printable(r.name).c_str(), printable(r.params).c_str(),
                            printable(r.message).c_str());
            }
        };
        run_golden_file(backend.get(), file, count, misfit);
    }
}

int run(const Options& options) {
    std::vector<std::string> files;
    for (const std::string& path : options.paths) {
        std::error_code error;
        if (std::filesystem::is_directory(path, error)) {
            for (const std::string& file : golden_files(path)) files.push_back(file);
        } else {
            files.push_back(path);
        }
    }
    if (files.empty()) return usage("no golden files given");
    if (!options.variant.empty()) {
        setenv("TENON_CPU_VARIANT", options.variant.c_str(), 1);
        std::string valid;
        if (!is_in_use(options.variant, valid)) {
            return usage("variant '" + options.variant +
                         "' is unknown or unusable here; valid: " + valid);
        }
    }
    Counts counts;
    size_t n_devices = 0;
    for (size_t i = 0; i < ggml_backend_dev_count(); ++i) {
        ggml_backend_dev_t device = ggml_backend_dev_get(i);
        if (!options.device.empty() && options.device != ggml_backend_dev_name(device)) continue;
        ++n_devices;
        run_on(device, options, files, counts);
    }
    if (n_devices == 0) return usage("no such device; rt-info lists them");
    std::printf("%zu passed, %zu failed, %zu skipped\n", counts.passed, counts.failed,
                counts.skipped);
    return counts.failed ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
    Options options;
    int code = 1;
    try {
        std::string why;
        if (!parse(argc, argv, options, why)) return usage(why);
        if (options.help) {
            std::fputs(kUsage, stdout);
            code = 0;
        } else {
            code = run(options);
        }
    } catch (const std::exception& e) {
        std::fprintf(stderr, "golden-check: %s\n", printable(e.what()).c_str());
    }
    // A full disk or a closed pipe must not look like success.
    if ((std::fflush(stdout) != 0 || std::ferror(stdout)) && code != 2) {
        std::fprintf(stderr, "golden-check: the output could not be written\n");
        code = 1;
    }
    return code;
}
