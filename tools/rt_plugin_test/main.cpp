// rt-plugin-test: the conformance suite against one plugin file. Level `ops`: every case of every
// op on every device of the plugin, compared with the oracle.

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "ggml-cpp.h"
#include "sdk/conformance/suite.h"
#include "tenon/tenon.h"
#include "tools/cli/cli.h"

namespace {

namespace cli = tenon::cli;
namespace po = cli::po;
using namespace tenon::conformance;

constexpr int kNotLoaded = 3;

struct Options {
    std::string plugin, device, only, skip;
    SuiteOptions suite;
    bool json = false;
};

struct Tally {
    int64_t passed = 0, failed = 0, unsupported = 0;
};

po::options_description describe() {
    po::options_description all("rt-plugin-test PLUGIN.so [options]\n\noptions");
    // clang-format off
    all.add_options()
        ("plugin", po::value<std::string>(), "the plugin file (or the first word that is no option)")
        ("level", po::value<std::string>()->default_value("ops"), "what to test: ops")
        ("device", po::value<std::string>()->default_value("*"), "GLOB: only devices whose name matches")
        ("only", po::value<std::string>()->default_value("*"), "GLOB: only cases whose \"OP(parameters)\" matches")
        ("skip", po::value<std::string>()->default_value(""), "GLOB: not the cases that match")
        ("seed", po::value<std::string>()->default_value("42"), "of the random values")
        ("max-work", po::value<std::string>()->default_value(std::to_string(kEverydayWork)), "multiply-adds of a case at most")
        ("stride", po::value<std::string>()->default_value("1"), "run every n-th case")
        ("json", "one JSON document with a record per failure and a tally per op")
        ("help,h", "this text");
    // clang-format on
    return all;
}

Options read_options(const po::variables_map& given) {
    const auto text = [&](const char* name) { return given[name].as<std::string>(); };
    if (!given.count("plugin")) throw cli::stop(cli::kUsage, "no plugin given");
    static const std::vector<std::string> levels{"ops"};
    if (text("level") != "ops")
        throw cli::unknown_name("level", text("level"), levels, cli::kUsage);
    Options o{text("plugin"),         text("device"), text("only"), text("skip"), {},
              given.count("json") > 0};
    o.suite.seed = static_cast<uint64_t>(cli::parse_integer("--seed", text("seed"), 0, INT64_MAX));
    o.suite.max_work = cli::parse_integer("--max-work", text("max-work"), 1, INT64_MAX);
    o.suite.stride = static_cast<int>(cli::parse_integer("--stride", text("stride"), 1, 1 << 20));
    return o;
}

// A stream on every device of the plugin that the glob names.
std::vector<ggml_backend_ptr> open_devices(ggml_backend_reg_t plugin, const std::string& glob) {
    std::vector<ggml_backend_ptr> streams;
    std::vector<std::string> names;
    for (size_t i = 0; i < ggml_backend_reg_dev_count(plugin); ++i) {
        ggml_backend_dev_t device = ggml_backend_reg_dev_get(plugin, i);
        names.emplace_back(ggml_backend_dev_name(device));
        if (!cli::glob_match(glob, names.back())) continue;
        streams.emplace_back(ggml_backend_dev_init(device, nullptr));
        if (!streams.back())
            throw cli::stop(cli::kFailed, "%s: %s", names.back().c_str(), tenon_last_error());
    }
    if (streams.empty()) throw cli::unknown_name("device", glob, names);
    return streams;
}

std::string name_of(const Case& c) { return c.op + "(" + c.params + ")"; }

// The cases to run: those the globs let through, every n-th of them, none too large.
std::vector<const Case*> chosen(const Options& o) {
    std::vector<const Case*> cases;
    int64_t n = 0;
    for (const Case& c : all_cases()) {
        if (!cli::glob_match(o.only, name_of(c))) continue;
        if (!o.skip.empty() && cli::glob_match(o.skip, name_of(c))) continue;
        if (work_of(c) > o.suite.max_work || n++ % o.suite.stride != 0) continue;
        cases.push_back(&c);
    }
    if (cases.empty())
        throw cli::stop(cli::kUnknownName, "no case matches --only %s", o.only.c_str());
    return cases;
}

void print_tallies(std::FILE* out, const std::map<std::string, Tally>& tallies) {
    cli::Table table;
    table.add_column("OP");
    for (const char* title : {"PASSED", "FAILED", "NOT SUPPORTED"})
        table.add_column(title, cli::Align::kRight);
    for (const auto& [op, t] : tallies) {
        table.add_row({op, std::to_string(t.passed), std::to_string(t.failed),
                       std::to_string(t.unsupported)});
    }
    table.print(out, cli::terminal_of(out));
}

int run_suite(const Options& o, std::FILE* out, std::span<const ggml_backend_ptr> streams) {
    std::vector<ggml_backend_t> devices;
    for (const auto& s : streams) devices.push_back(s.get());
    std::map<std::string, Tally> tallies;
    Tally all;
    auto failures = nlohmann::ordered_json::array();
    const auto cases = chosen(o);
    cli::Progress progress("testing", cases.size());
    for (size_t i = 0; i < cases.size(); ++i) {
        progress.update(i, cases[i]->op);
        const auto results = run_case(*cases[i], devices, o.suite.seed);
        for (size_t d = 0; d < results.size(); ++d) {
            for (Tally* t : {&tallies[cases[i]->op], &all}) {
                switch (results[d].verdict) {
                    case Verdict::kPassed:
                        ++t->passed;
                        break;
                    case Verdict::kFailed:
                        ++t->failed;
                        break;
                    case Verdict::kUnsupported:
                        ++t->unsupported;
                        break;
                }
            }
            if (results[d].verdict != Verdict::kFailed) continue;
            const char* device = ggml_backend_name(devices[d]);
            failures.push_back({{"device", device},
                                {"case", name_of(*cases[i])},
                                {"message", results[d].message}});
            if (!o.json)
                std::fprintf(out, "FAILED %s %s: %s\n", device, name_of(*cases[i]).c_str(),
                             cli::printable(results[d].message).c_str());
        }
    }
    progress.finish();
    if (o.json) {
        nlohmann::ordered_json ops;
        for (const auto& [op, t] : tallies)
            ops[op] = {{"passed", t.passed}, {"failed", t.failed}, {"unsupported", t.unsupported}};
        cli::print_json(out, {{"schema", "tenon.rt-plugin-test"},
                              {"schema_version", 1},
                              {"seed", o.suite.seed},
                              {"ops", ops},
                              {"failures", failures}});
    } else {
        print_tallies(out, tallies);
        std::fprintf(out, "\n%lld passed, %lld failed, %lld skipped\n",
                     static_cast<long long>(all.passed), static_cast<long long>(all.failed),
                     static_cast<long long>(all.unsupported));
    }
    return all.failed ? cli::kFailed : cli::kAnswered;
}

int run(int argc, char** argv) {
    const po::options_description all = describe();
    po::positional_options_description positional;
    positional.add("plugin", 1);
    const po::variables_map given = cli::parse(argc, argv, all, positional);
    std::FILE* out = cli::answer_stream();
    if (given.count("help")) {
        std::ostringstream text;
        text << all;
        std::fputs(text.str().c_str(), out);
        return cli::kAnswered;
    }
    const Options o = read_options(given);
    tenon_setting_set("autoload", "0");  // this plugin and nothing else
    ggml_backend_reg_t plugin = nullptr;
    if (tenon_plugin_load(o.plugin.c_str(), &plugin) != TENON_OK) {
        throw cli::stop(kNotLoaded, "%s: %s", o.plugin.c_str(), tenon_last_error());
    }
    return run_suite(o, out, open_devices(plugin, o.device));
}

}  // namespace

// Exit: 0 all passed (refusals allowed), 1 failures, 2 usage, 3 the plugin could not be loaded, 5 a
// name that does not exist.
int main(int argc, char** argv) {
    return tenon::cli::run_tool("rt-plugin-test", [&] { return run(argc, argv); });
}
