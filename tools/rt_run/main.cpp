// rt-run: text from a llama-architecture GGUF model.

#include <atomic>
#include <csignal>
#include <nlohmann/json.hpp>
#include <random>

#include "ggml-backend.h"
#include "tenon/tenon.h"
#include "tools/cli/cli.h"
#include "tools/cli/files.h"
#include "tools/rt_run/generate.h"
#include "tools/rt_run/report.h"

namespace {

using namespace rt_run;
namespace cli = tenon::cli;
namespace po = cli::po;

std::atomic<bool> g_interrupted{false};

// The first Ctrl-C asks for a clean end; the second one, should that hang, gets the default action.
extern "C" void on_interrupt(int signal) {
    g_interrupted = true;
    std::signal(signal, SIG_DFL);
}

// From here on; before, while files are opened and read, it ends the program at once.
void catch_interrupts() {
    for (const int signal : {SIGINT, SIGTERM}) {
        // What was ignored when we started, as in the background of a script, stays ignored.
        if (std::signal(signal, on_interrupt) == SIG_IGN) std::signal(signal, SIG_IGN);
    }
}

// Errors come back as texts and are told once; warnings have no other way.
extern "C" void on_log(ggml_log_level level, const char* text, void*) {
    if (level != GGML_LOG_LEVEL_WARN) return;
    std::string_view line(text);
    if (line.ends_with('\n')) line.remove_suffix(1);
    std::fprintf(stderr, "rt-run: %s\n", cli::printable(line).c_str());
}

struct Options {
    std::string model, prompt, device, eval_file;
    std::vector<std::string> places;
    int64_t n_predict = 128;
    SessionOptions session;
    SamplerOptions sampler;
    bool explain = false, json = false, no_echo = false, parse_special = false, no_mmap = false;
};

po::options_description describe() {
    po::options_description all("rt-run MODEL.gguf [options]\n\noptions");
    // clang-format off
    all.add_options()
        ("model,m", po::value<std::string>(), "the model (or the first word that is no option)")
        ("prompt,p", po::value<std::string>()->default_value(""), "text to continue")
        ("n-predict,n", po::value<std::string>()->default_value("128"), "tokens to generate at most")
        ("device,d", po::value<std::string>(), "device that holds the weights and computes; default: the best there is")
        ("place", po::value<std::vector<std::string>>()->composing(),
         "GLOB=DEVICE: tensors whose name matches live on that device; repeatable, the last match wins")
        ("threads,t", po::value<std::string>(), "host threads; default: the library's")
        ("no-mmap", "read the weights into memory instead of mapping the file")
        ("ctx-size,c", po::value<std::string>(), "tokens of context; default: the model's")
        ("batch,b", po::value<std::string>()->default_value("512"), "prompt tokens evaluated at once")
        ("cache-type", po::value<std::string>()->default_value("f32"), "type of the KV cache: f32, f16, bf16")
        ("temp", po::value<float>()->default_value(0.8f, "0.8"), "temperature; 0: always the best token")
        ("top-k", po::value<std::string>()->default_value("40"), "sample from the k best tokens; 0: all")
        ("top-p", po::value<float>()->default_value(0.95f, "0.95"), "sample from the tokens that make up this probability")
        ("seed,s", po::value<std::string>(), "of the sampling; default: a new one each time")
        ("parse-special", "names of control tokens in a text, as <s>, are these tokens; user-defined ones always are")
        ("eval", po::value<std::string>(), "FILE: print the mean negative log-likelihood of its text instead")
        ("explain", "print which device runs each node, and why")
        ("no-echo", "do not print the prompt before its continuation")
        ("json", "print one JSON document instead of text")
        ("help,h", "this text");
    // clang-format on
    return all;
}

ggml_type read_cache_type(const std::string& name) {
    std::vector<std::string> valid;
    for (const ggml_type type : {GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16}) {
        if (name == ggml_type_name(type)) return type;
        valid.emplace_back(ggml_type_name(type));
    }
    throw cli::unknown_name("cache type", name, valid);
}

Options read_options(const po::variables_map& given) {
    Options o;
    const auto text = [&](const char* name) { return given[name].as<std::string>(); };
    const auto integer = [&](const char* name, int64_t min, int64_t max, int64_t otherwise) {
        return given.count(name) ? cli::parse_integer(name, text(name), min, max) : otherwise;
    };
    if (!given.count("model")) throw cli::stop(cli::kUsage, "no model given");
    o.model = text("model");
    o.prompt = text("prompt");
    o.n_predict = integer("n-predict", 0, INT32_MAX, 128);
    if (given.count("device")) o.device = text("device");
    if (given.count("place")) o.places = given["place"].as<std::vector<std::string>>();
    if (given.count("eval")) o.eval_file = text("eval");
    o.session.n_threads = static_cast<int>(integer("threads", 1, GGML_MAX_N_THREADS, 0));
    o.session.n_ctx = integer("ctx-size", 1, INT32_MAX, 0);
    o.session.n_batch = integer("batch", 1, 1 << 20, 512);
    o.session.kv_type = read_cache_type(text("cache-type"));
    o.session.cancel = &g_interrupted;
    o.sampler.temperature = given["temp"].as<float>();
    o.sampler.top_k = static_cast<int32_t>(integer("top-k", 0, INT32_MAX, 40));
    o.sampler.top_p = given["top-p"].as<float>();
    if (!(o.sampler.temperature >= 0))
        throw cli::stop(cli::kUsage, "--temp %g: expected 0 or more", o.sampler.temperature);
    if (!(o.sampler.top_p > 0 && o.sampler.top_p <= 1)) {
        throw cli::stop(cli::kUsage, "--top-p %g: expected more than 0, at most 1",
                        o.sampler.top_p);
    }
    o.sampler.seed = given.count("seed") ? static_cast<uint64_t>(integer("seed", 0, INT64_MAX, 0))
                                         : std::random_device{}();
    o.explain = given.count("explain");
    o.json = given.count("json");
    o.no_echo = given.count("no-echo");
    o.no_mmap = given.count("no-mmap");
    o.parse_special = given.count("parse-special");
    return o;
}

ggml_backend_dev_t find_device(const std::string& name) {
    if (ggml_backend_dev_t device = ggml_backend_dev_by_name(name.c_str())) return device;
    std::vector<std::string> names;
    for (size_t i = 0; i < ggml_backend_dev_count(); ++i) {
        names.emplace_back(ggml_backend_dev_name(ggml_backend_dev_get(i)));
    }
    throw cli::unknown_name("device", name, names);
}

// The device asked for, else the first GPU, else the CPU.
ggml_backend_dev_t main_device(const std::string& name) {
    if (!name.empty()) return find_device(name);
    for (const auto type : {GGML_BACKEND_DEVICE_TYPE_GPU, GGML_BACKEND_DEVICE_TYPE_IGPU}) {
        if (ggml_backend_dev_t device = ggml_backend_dev_by_type(type)) return device;
    }
    return cpu_device();
}

std::vector<PlacementRule> read_places(const std::vector<std::string>& places) {
    std::vector<PlacementRule> rules;
    for (const std::string& place : places) {
        const size_t at = place.rfind('=');
        if (at == std::string::npos || at == 0 || at + 1 == place.size()) {
            throw cli::stop(cli::kUsage, "--place %s: expected GLOB=DEVICE", place.c_str());
        }
        rules.push_back({place.substr(0, at), find_device(place.substr(at + 1))});
    }
    return rules;
}

int run_eval(const Options& o, std::FILE* out, Session& session, const Tokenizer& tokenizer) {
    constexpr uint64_t kMostText = 64 << 20;  // bytes; days of evaluation
    const std::string text = cli::read_text_file(o.eval_file, kMostText);
    catch_interrupts();
    cli::Progress progress("evaluating", 1);
    const int64_t window = std::min<int64_t>(128, session.n_ctx());
    const Evaluation e = evaluate_text(
        session, tokenizer, text, window, g_interrupted, [&](int64_t done, int64_t all) {
            progress.update(static_cast<uint64_t>(done), std::to_string(all) + " tokens");
        });
    progress.finish();
    if (o.json) {
        using Number = nlohmann::ordered_json;
        const bool any = e.n_scored > 0;
        cli::print_json(out, {{"mean_nll", any ? Number(e.mean_nll) : Number()},
                              {"perplexity", any ? Number(std::exp(e.mean_nll)) : Number()},
                              {"tokens", e.n_tokens},
                              {"scored", e.n_scored},
                              {"window", window},
                              {"interrupted", e.cancelled}});
    } else if (e.n_scored == 0) {
        std::fputs("interrupted before any token was scored\n", out);
    } else {
        std::fprintf(out,
                     "mean negative log-likelihood %.4f nats per token (perplexity %.3f), %lld of "
                     "%lld tokens scored%s\n",
                     e.mean_nll, std::exp(e.mean_nll), static_cast<long long>(e.n_scored),
                     static_cast<long long>(e.n_tokens), e.cancelled ? ", interrupted" : "");
    }
    return e.cancelled ? 130 : 0;
}

int run_prompt(const Options& o, std::FILE* out, Session& session, const Tokenizer& tokenizer) {
    Sampler sampler(o.sampler);
    if (!o.json && !o.no_echo) std::fputs(o.prompt.c_str(), out);
    const auto show = [&](std::string_view text) {
        if (o.json || text.empty()) return;
        std::fwrite(text.data(), 1, text.size(), out);
        std::fflush(out);
    };
    catch_interrupts();
    const Generation g =
        generate(session, tokenizer, sampler, o.prompt, o.n_predict, g_interrupted, show);
    if (o.json) {
        auto document = to_json(g, session);
        document["seed"] = o.sampler.seed;
        if (o.explain) document["placement"] = placement_json(session);
        cli::print_json(out, document);
    } else {
        std::fputs("\n\n", out);
        print_summary(out, g, session);
        if (o.explain) print_placement(out, session);
    }
    return g.stop == StopReason::kCancelled ? 130 : 0;
}

Tokenizer read_tokenizer(const Options& o, const Model& model) {
    try {
        return Tokenizer(model.file(),
                         o.parse_special ? ControlNames::kTokens : ControlNames::kText);
    } catch (const std::runtime_error& e) {
        throw cli::stop(cli::kFailed, "%s: %s", o.model.c_str(), e.what());
    }
}

int run(int argc, char** argv) {
    const po::options_description all = describe();
    po::positional_options_description positional;
    positional.add("model", 1);
    const po::variables_map given = cli::parse(argc, argv, all, positional);
    std::FILE* out = cli::answer_stream();
    if (given.count("help")) {
        std::ostringstream text;
        text << all;
        std::fputs(text.str().c_str(), out);
        return 0;
    }
    const Options o = read_options(given);
    ggml_log_set(on_log, nullptr);

    ggml_backend_dev_t main = main_device(o.device);
    const Model model(o.model, main, read_places(o.places),
                      o.no_mmap ? Weights::kRead : Weights::kMapped);
    const Tokenizer tokenizer = read_tokenizer(o, model);
    if (tokenizer.size() != model.params().n_vocab) {
        throw cli::stop(cli::kFailed,
                        "%s: the tokenizer has %d tokens, tensor 'token_embd.weight' has %lld rows",
                        o.model.c_str(), tokenizer.size(),
                        static_cast<long long>(model.params().n_vocab));
    }
    Session session(model, main, o.session);
    return o.eval_file.empty() ? run_prompt(o, out, session, tokenizer)
                               : run_eval(o, out, session, tokenizer);
}

}  // namespace

int main(int argc, char** argv) {
    return tenon::cli::run_tool("rt-run", [&] { return run(argc, argv); });
}
