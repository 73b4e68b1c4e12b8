// rt-info: what this machine can run, with which plugin, and if something is missing, why.

#include <unistd.h>

#include <algorithm>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "tools/rt_info/info.h"

namespace tenon::rt_info {
namespace {

constexpr int kNoDevice = 3;
constexpr int kStrict = 4;
constexpr int kTimeout = 124;

constexpr const char kHelp[] =
    R"(usage: rt-info [what] [options]

what (default: devices)
  -L, --list              one line per device, as llama.cpp's --list-devices
      --plugins           every plugin file found, its state and the reason
      --explain [NAME]    why a plugin, family or device is not used; without NAME:
                          all that are not
      --ops               op support matrix
      --op NAME           one op: what it is, who runs it, who refuses and why
      --paths             where plugins and settings were looked for
      --version           versions of rt-info, library, ggml API, plugin ABI

options
  -a, --all               also hidden devices, unused variants
  -v, --verbose           everything known
      --json              same content as JSON
      --device GLOB[,…]   restrict to devices (name, PCI address or UUID)
      --type GLOB[,…]     --ops, --op: only calls with such a tensor type
      --diff A,B          --ops: only rows where two devices differ
      --no-load           look at files only, load nothing
      --plugin-path DIRS  instead of the default directories (as TENON_PLUGIN_PATH)
      --plugin FILE       load exactly this plugin, nothing else
      --strict            exit 4 if any plugin failed
      --require SPEC      exit 5 unless present: gpu, cpu, accel, a family, a device
                          name or PCI address; repeatable
      --color WHEN        auto, always, never
      --timeout S         give up on a hanging plugin (default 30)
  -h, --help              this text

The text is for people and may change; --json is for programs and only grows.
Exit codes: 0 answered, 1 failed, 2 usage, 3 no usable device, 4 --strict,
5 a name is unknown or --require is not met, 124 timeout.
)";

cli::po::options_description option_table() {
    namespace po = cli::po;
    po::options_description table;
    const auto word = [] { return po::value<std::string>(); };
    table.add_options()("list,L", "")("plugins", "")("explain", word()->implicit_value(""), "")(
        "ops", "")("op", word(), "")("paths", "")("version", "")("all,a", "")(
        "verbose,v", cli::counter(), "")("json", "")("device", word(), "")("type", word(), "")(
        "diff", word(), "")("no-load", "")("plugin-path", word(), "")("plugin", word(), "")(
        "strict", "")("require", po::value<std::vector<std::string>>(), "")("color", word(), "")(
        "timeout", word(), "")("help,h", "");
    return table;
}

What what_of(const cli::po::variables_map& given) {
    struct Row {
        const char* option;
        What what;
    };
    constexpr Row kRows[] = {{"list", What::kList},       {"plugins", What::kPlugins},
                             {"explain", What::kExplain}, {"ops", What::kOps},
                             {"op", What::kOp},           {"paths", What::kPaths},
                             {"version", What::kVersion}};
    const char* first = nullptr;
    What what = What::kDevices;
    for (const Row& row : kRows) {
        if (!given.count(row.option)) continue;
        if (first)
            throw cli::stop(cli::kUsage, "--%s and --%s exclude each other", first, row.option);
        first = row.option;
        what = row.what;
    }
    return what;
}

Options options_of(const cli::po::variables_map& given, std::FILE* out) {
    const auto text = [&](const char* name) {
        return given.count(name) ? given[name].as<std::string>() : std::string();
    };
    Options o;
    o.what = what_of(given);
    o.name = o.what == What::kExplain ? text("explain") : text("op");
    o.all = given.count("all");
    o.json = given.count("json");
    o.no_load = given.count("no-load");
    o.strict = given.count("strict");
    o.verbose = cli::count_of(given, "verbose");
    o.device_globs = text("device");
    o.type_globs = text("type");
    if (const std::string glob = cli::unmatched_type(o.type_globs); !glob.empty()) {
        throw cli::unknown_name("type", glob, cli::type_names());
    }
    o.diff = text("diff");
    o.plugin_file = text("plugin");
    o.plugin_path = text("plugin-path");
    if (given.count("require")) o.require = given["require"].as<std::vector<std::string>>();
    o.terminal =
        cli::terminal_of(out, cli::parse_color(given.count("color") ? text("color") : "auto"));
    if (given.count("timeout")) {
        o.timeout_s =
            static_cast<double>(cli::parse_integer("--timeout", text("timeout"), 1, 86400));
    }
    if (o.no_load && (o.what == What::kOps || o.what == What::kOp || !o.device_globs.empty())) {
        throw cli::stop(cli::kUsage, "--no-load knows no devices");
    }
    return o;
}

// Warnings that belong to no row of the answer; with -v all of them.
void pass_warnings(ggml_log_level level, const char* text, void* user_data) {
    const bool verbose = static_cast<const Options*>(user_data)->verbose > 0;
    const std::string line = text;
    const bool has_a_row = line.starts_with("plugin ") || line.starts_with("no usable plugin");
    if (verbose ? level < GGML_LOG_LEVEL_WARN || level > GGML_LOG_LEVEL_ERROR
                : level != GGML_LOG_LEVEL_WARN || has_a_row) {
        return;
    }
    std::fputs(cli::printable(line.substr(0, line.find('\n'))).c_str(), stderr);
    std::fputc('\n', stderr);
}

// Prints what is known and ends the program when loading takes too long.
class Watchdog {
public:
    Watchdog(const Options& options, std::FILE* out)
        : thread_([this, &options, out] { watch(options, out); }) {}
    ~Watchdog() {
        {
            const std::lock_guard lock(mutex_);
            done_ = true;
        }
        changed_.notify_one();
        thread_.join();
    }
    Watchdog(const Watchdog&) = delete;
    Watchdog& operator=(const Watchdog&) = delete;

private:
    void watch(const Options& options, std::FILE* out) {
        std::unique_lock lock(mutex_);
        const auto limit = std::chrono::duration<double>(options.timeout_s);
        if (changed_.wait_for(lock, limit, [this] { return done_; })) return;
        const World world = collect(options, /*during_load=*/true);
        if (options.json)
            print_json(world, nullptr, options, out);
        else
            print_plugins(world, options, out);
        for (const Plugin& p : world.plugins) {
            if (p.state != "loading") continue;
            std::fprintf(stderr, "rt-info: %s did not finish within %.0f s\n",
                         cli::printable(p.name).c_str(), options.timeout_s);
        }
        std::fflush(out);
        std::fflush(stderr);
        ::_exit(kTimeout);
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    bool done_ = false;
    std::thread thread_;
};

World load_and_collect(const Options& options, std::FILE* out) {
    const Watchdog watchdog(options, out);
    // Paths need no plugin; what can be asked without one is answered without one.
    if (options.what != What::kPaths)
        load(options);
    else
        tenon_plugins_scan(nullptr);
    World world = collect(options, /*during_load=*/false);
    restrict_devices(&world, options.device_globs);
    const bool for_devices = options.what == What::kDevices || options.what == What::kList;
    if (for_devices && (options.json || options.verbose > 0)) count_ops(&world);
    return world;
}

void answer(const World& world, const Options& options, std::FILE* out) {
    const bool about_ops = options.what == What::kOps || options.what == What::kOp;
    if (options.what == What::kExplain) check_explained_name(world, options.name);
    OpMatrix matrix;
    if (about_ops) matrix = ask_ops(world, options);
    if (options.json) {
        Options full = options;
        full.verbose += options.what == What::kExplain;
        return print_json(world, about_ops ? &matrix : nullptr, full, out);
    }
    switch (options.what) {
        case What::kDevices:
            return print_devices(world, options, out);
        case What::kList:
            return print_list(world, out);
        case What::kPlugins:
            return print_plugins(world, options, out);
        case What::kExplain:
            return print_explanation(world, options.name, out);
        case What::kOps:
            return print_ops(matrix, options, out);
        case What::kOp:
            return print_op(matrix, options, out);
        case What::kPaths:
            return print_paths(world, out);
        case What::kVersion:
            return print_version(out);
    }
}

int exit_code(const World& world, const Options& options) {
    if (options.what == What::kPaths || options.what == What::kVersion) return cli::kAnswered;
    for (const std::string& spec : options.require) {
        if (is_present(world, spec)) continue;
        std::fprintf(stderr, "rt-info: required '%s' is not there\n", cli::printable(spec).c_str());
        return cli::kUnknownName;
    }
    const auto shown = [](const Device& d) { return d.hidden.empty(); };
    if (!options.no_load && std::none_of(world.devices.begin(), world.devices.end(), shown)) {
        return kNoDevice;
    }
    if (options.strict) {
        for (const Plugin& p : world.plugins) {
            if (is_strict_failure(p)) return kStrict;
        }
    }
    return cli::kAnswered;
}

int run(int argc, char** argv) {
    std::FILE* out = cli::answer_stream();
    const auto given = cli::parse(argc, argv, option_table());
    if (given.count("help")) {
        std::fputs(kHelp, out);
        return cli::kAnswered;
    }
    const Options options = options_of(given, out);
    if (options.what == What::kVersion && !options.json) {
        print_version(out);
        return cli::kAnswered;
    }
    ggml_log_set(pass_warnings, const_cast<Options*>(&options));
    const World world = options.what == What::kVersion ? World{} : load_and_collect(options, out);
    answer(world, options, out);
    ggml_log_set(nullptr, nullptr);
    return exit_code(world, options);
}

}  // namespace
}  // namespace tenon::rt_info

int main(int argc, char** argv) {
    const int code =
        tenon::cli::run_tool("rt-info", [&] { return tenon::rt_info::run(argc, argv); });
    ::_exit(code);  // what vendors' libraries do at exit is not our concern
}
