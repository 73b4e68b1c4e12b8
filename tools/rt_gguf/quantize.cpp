// rt-gguf quantize: a copy of a model file with other tensor types.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cinttypes>
#include <map>
#include <mutex>
#include <thread>

#include "tenon/tenon.h"
#include "tools/rt_gguf/commands.h"
#include "tools/rt_gguf/output_file.h"
#include "tools/rt_gguf/plan.h"

namespace tenon::rt_gguf {
namespace {

constexpr int64_t kSlabElements = 8 << 20;  // read, converted and written at a time
constexpr uint64_t kCopiedBytes = 32
                                  << 20;  // read and written at a time, where nothing is converted
constexpr int64_t kChunkElements = 64 << 10;  // one thread's share of a slab

// ---- options ----------------------------------------------------------------------------------

// Types that weights may have: the three of plain floats and the quantised ones, less those of
// activations, which have no quantizer.
ggml_type parse_target(const std::string& name) {
    std::vector<std::string> valid;
    for (const std::string& word : cli::type_names()) {
        const ggml_type type = cli::parse_type(word);
        const bool plain = type == GGML_TYPE_F32 || type == GGML_TYPE_F16 || type == GGML_TYPE_BF16;
        const bool activations = type == GGML_TYPE_Q8_1 || type == GGML_TYPE_Q8_K;
        if (!plain && (!ggml_is_quantized(type) || activations)) continue;
        if (cli::glob_match(word, name)) return type;  // equal but for case
        valid.push_back(word);
    }
    throw cli::unknown_name("type for weights", name, valid);
}

Pattern parse_pattern(const std::string& word) {
    const size_t equals = word.rfind('=');
    if (equals == std::string::npos || equals == 0) {
        throw cli::stop(cli::kUsage, "--tensor-type takes PATTERN=TYPE, not '%s'", word.c_str());
    }
    return {word.substr(0, equals), parse_target(word.substr(equals + 1))};
}

// ---- metadata ---------------------------------------------------------------------------------

// Numbers of general.file_type, which are not those of enum ggml_ftype.
int file_type_of(ggml_type type) {
    static const std::map<ggml_type, int> kNumbers{
        {GGML_TYPE_F32, 0},      {GGML_TYPE_F16, 1},     {GGML_TYPE_Q4_0, 2},
        {GGML_TYPE_Q4_1, 3},     {GGML_TYPE_Q8_0, 7},    {GGML_TYPE_Q5_0, 8},
        {GGML_TYPE_Q5_1, 9},     {GGML_TYPE_Q2_K, 10},   {GGML_TYPE_Q3_K, 12},
        {GGML_TYPE_Q4_K, 15},    {GGML_TYPE_Q5_K, 17},   {GGML_TYPE_Q6_K, 18},
        {GGML_TYPE_IQ2_XXS, 19}, {GGML_TYPE_IQ2_XS, 20}, {GGML_TYPE_IQ3_XXS, 23},
        {GGML_TYPE_IQ1_S, 24},   {GGML_TYPE_IQ4_NL, 25}, {GGML_TYPE_IQ3_S, 26},
        {GGML_TYPE_IQ2_S, 28},   {GGML_TYPE_IQ4_XS, 30}, {GGML_TYPE_IQ1_M, 31},
        {GGML_TYPE_BF16, 32},    {GGML_TYPE_TQ1_0, 36},  {GGML_TYPE_TQ2_0, 37},
        {GGML_TYPE_MXFP4, 38},   {GGML_TYPE_NVFP4, 39},  {GGML_TYPE_Q1_0, 40},
        {GGML_TYPE_Q2_0, 41}};
    const auto found = kNumbers.find(type);
    return found == kNumbers.end() ? -1 : found->second;
}

Gguf make_metadata(const ModelFile& file, const std::vector<Step>& plan, ggml_type type) {
    tenon_clear_error();
    Gguf out(gguf_init_empty());
    if (!out) throw cli::stop(cli::kFailed, "%s", tenon_last_error());
    // An alignment the file states stays; it must be in force before the pairs are copied.
    if (gguf_find_key(file.gguf(), "general.alignment") >= 0) {
        gguf_set_val_u32(out.get(), "general.alignment",
                         static_cast<uint32_t>(gguf_get_alignment(file.gguf())));
    }
    gguf_set_kv(out.get(), file.gguf());
    bool quantized = false;
    for (const Step& step : plan) {
        gguf_add_tensor(out.get(), step.tensor->header);
        gguf_set_tensor_type(out.get(), step.tensor->name.c_str(), step.type);
        quantized = quantized || ggml_is_quantized(step.type);
    }
    if (quantized) gguf_set_val_u32(out.get(), "general.quantization_version", GGML_QNT_VERSION);
    if (const int number = file_type_of(type); number >= 0) {
        gguf_set_val_u32(out.get(), "general.file_type", static_cast<uint32_t>(number));
    }
    if (gguf_get_n_tensors(out.get()) != static_cast<int64_t>(plan.size()) ||
        gguf_get_meta_size(out.get()) == 0) {
        throw cli::stop(cli::kFailed, "%s", tenon_last_error());
    }
    return out;
}

// ---- data -------------------------------------------------------------------------------------

// Converts slabs of rows on several threads. The result does not depend on how rows are shared out.
class Converter {
public:
    Converter(const Step& step, int n_threads) : step_(step), n_threads_(n_threads) {}

    // `rows` rows from `first` of the tensor: `in` as stored, `out` as planned.
    void run(const char* in, char* out, int64_t first, int64_t rows) {
        const int64_t n = step_.tensor->row_elements();
        const int64_t chunk = std::max<int64_t>(1, kChunkElements / n);
        const int64_t n_chunks = (rows + chunk - 1) / chunk;
        std::atomic<int64_t> next{0};
        const auto work = [&] {
            std::vector<float> floats;
            for (int64_t c; (c = next.fetch_add(1)) < n_chunks;) {
                const int64_t from = c * chunk;
                if (!convert_rows(in, out, first, from, std::min(rows, from + chunk), floats)) {
                    next = n_chunks;
                }
            }
        };
        std::vector<std::jthread> helpers;
        for (int64_t i = 1; i < std::min<int64_t>(n_threads_, n_chunks); ++i)
            helpers.emplace_back(work);
        work();
        helpers.clear();
        if (!error_.empty()) throw cli::Stop(cli::kFailed, error_);
    }

private:
    bool convert_rows(const char* in, char* out, int64_t first, int64_t from, int64_t to,
                      std::vector<float>& floats) {
        const Tensor& tensor = *step_.tensor;
        const int64_t n = tensor.row_elements(), per_matrix = tensor.header->ne[1];
        floats.resize(static_cast<size_t>((to - from) * n));
        convert(tensor.type, in + static_cast<size_t>(from) * tensor.row_bytes(), (to - from) * n,
                floats.data());
        const size_t row_bytes = ggml_row_size(step_.type, n);
        for (int64_t row = from; row < to;) {
            // Each matrix of a stack has its own importance.
            const int64_t matrix = (first + row) / per_matrix;
            const int64_t end = std::min(to, (matrix + 1) * per_matrix - first);
            const float* importance =
                step_.importance ? step_.importance->data() + matrix % tensor.header->ne[2] * n
                                 : nullptr;
            char* dst = out + static_cast<size_t>(row) * row_bytes;
            const size_t bytes = static_cast<size_t>(end - row) * row_bytes;
            tenon_clear_error();
            if (ggml_quantize_chunk(step_.type, floats.data() + (row - from) * n, dst, 0, end - row,
                                    n, importance) != bytes) {
                return give_up(tenon_last_error());
            }
            if (!ggml_validate_row_data(step_.type, dst, bytes)) {
                tenon_clear_error();
                return give_up(
                    cli::format("rows %" PRId64 " to %" PRId64 " do not stay finite as %s",
                                first + row, first + end - 1, ggml_type_name(step_.type)));
            }
            row = end;
        }
        return true;
    }

    bool give_up(const std::string& why) {
        const std::scoped_lock lock(mutex_);
        if (error_.empty()) error_ = "tensor '" + step_.tensor->name + "': " + why;
        return false;
    }

    const Step& step_;
    int n_threads_;
    std::mutex mutex_;
    std::string error_;
};

class Writer {
public:
    Writer(const ModelFile& in, const std::string& out, int n_threads)
        : in_(in), out_(out), n_threads_(n_threads) {}

    void run(const std::vector<Step>& plan, const gguf_context* meta) {
        std::vector<char> head(gguf_get_meta_size(meta));
        gguf_get_meta_data(meta, head.data());
        out_.write(head.data(), head.size());
        uint64_t total = 0, done = 0;
        for (const Step& step : plan) total += step.tensor->size;
        cli::Progress progress("quantizing", total);
        const std::vector<char> zeros(gguf_get_alignment(meta));
        for (const Step& step : plan) {
            write_tensor(step, progress, done);
            done += step.tensor->size;
            out_.write(zeros.data(), (zeros.size() - out_.written() % zeros.size()) % zeros.size());
        }
        progress.finish();
        out_.commit();
    }

    uint64_t written() const { return out_.written(); }

private:
    void write_tensor(const Step& step, cli::Progress& progress, uint64_t done) {
        const Tensor& tensor = *step.tensor;
        if (tensor.size == 0) return;
        if (step.copied()) return copy_tensor(tensor, progress, done);
        const int64_t n = tensor.row_elements(), n_rows = tensor.rows();
        const int64_t slab = std::max<int64_t>(1, kSlabElements / n);
        const size_t in_bytes = tensor.row_bytes(), out_bytes = ggml_row_size(step.type, n);
        Converter converter(step, n_threads_);
        for (int64_t row = 0; row < n_rows; row += slab) {
            const int64_t rows = std::min(slab, n_rows - row);
            const uint64_t at = static_cast<uint64_t>(row) * in_bytes;
            source_.resize(static_cast<size_t>(rows) * in_bytes);
            in_.read(tensor, at, source_.data(), source_.size());
            progress.update(done + at, tensor.name);
            result_.resize(static_cast<size_t>(rows) * out_bytes);
            converter.run(source_.data(), result_.data(), row, rows);
            out_.write(result_.data(), result_.size());
        }
    }

    void copy_tensor(const Tensor& tensor, cli::Progress& progress, uint64_t done) {
        for (uint64_t at = 0; at < tensor.size; at += source_.size()) {
            source_.resize(std::min(kCopiedBytes, tensor.size - at));
            in_.read(tensor, at, source_.data(), source_.size());
            progress.update(done + at, tensor.name);
            out_.write(source_.data(), source_.size());
        }
    }

    const ModelFile& in_;
    OutputFile out_;
    int n_threads_;
    std::vector<char> source_, result_;
};

// ---- report -----------------------------------------------------------------------------------

void print_fallbacks(const std::vector<Step>& plan) {
    cli::Table table;
    for (const char* title : {"TENSOR", "SHAPE", "WANTED", "BECAME", "BECAUSE"})
        table.add_column(title);
    size_t n = 0;
    for (const Step& step : plan) {
        if (!step.fell_back()) continue;
        table.add_row({step.tensor->name, shape_text(*step.tensor), ggml_type_name(step.wanted),
                       ggml_type_name(step.type), step.reason});
        ++n;
    }
    if (n == 0) return;
    std::printf("\n%zu %s fell back\n", n, n == 1 ? "tensor" : "tensors");
    table.print(stdout, cli::terminal_of(stdout));
}

void print_summary(const ModelFile& in, const std::string& out, uint64_t out_bytes,
                   const std::vector<Step>& plan, double seconds, int n_threads) {
    std::printf("%s: %s -> %s (%.1f %%) in %s, threads: %d\n", cli::printable(out).c_str(),
                cli::bytes_text(in.file_bytes()).c_str(), cli::bytes_text(out_bytes).c_str(),
                100.0 * static_cast<double>(out_bytes) /
                    static_cast<double>(std::max<uint64_t>(1, in.file_bytes())),
                cli::time_text(seconds).c_str(), n_threads);
    std::map<std::pair<ggml_type, ggml_type>, size_t> changes;
    for (const Step& step : plan) ++changes[{step.tensor->type, step.type}];
    for (const auto& [types, n] : changes) {
        if (types.first == types.second) {
            std::printf("  %4zu %s %s\n", n, n == 1 ? "tensor stays" : "tensors stay",
                        ggml_type_name(types.first));
        } else {
            std::printf("  %4zu %s %s -> %s\n", n, n == 1 ? "tensor" : "tensors",
                        ggml_type_name(types.first), ggml_type_name(types.second));
        }
    }
    print_fallbacks(plan);
}

// Wishes that had no effect are mistakes more often than not.
void warn_unused(const Wishes& wishes, const std::vector<Step>& plan) {
    for (const Pattern& pattern : wishes.patterns) {
        if (pattern.used) continue;
        std::fprintf(
            stderr,
            "rt-gguf: warning: pattern '%s' decides no tensor (1-D tensors stay as they are)\n",
            cli::printable(pattern.glob).c_str());
    }
    if (!wishes.importance) return;
    const auto used = static_cast<size_t>(std::count_if(
        plan.begin(), plan.end(), [](const Step& step) { return step.importance != nullptr; }));
    if (used < wishes.importance->n_tensors()) {
        std::fprintf(stderr,
                     "rt-gguf: warning: '%s' has importance for %zu tensors, %zu of them are "
                     "quantized here\n",
                     cli::printable(wishes.importance->path()).c_str(),
                     wishes.importance->n_tensors(), used);
    }
}

// Where weights are quantized as without importance although it was given.
void warn_gaps(const Importance& importance, const std::vector<Step>& plan) {
    constexpr size_t kNamed = 20;
    size_t n = 0;
    for (const Step& step : plan) {
        if (step.copied() || !takes_importance(step.type)) continue;
        const std::string gaps = importance.gaps(*step.tensor);
        if (gaps.empty() || n++ >= kNamed) continue;
        std::fprintf(stderr, "rt-gguf: warning: '%s': tensor '%s': %s\n",
                     cli::printable(importance.path()).c_str(),
                     cli::printable(step.tensor->name).c_str(), gaps.c_str());
    }
    if (n > kNamed) {
        std::fprintf(stderr, "rt-gguf: warning: and %zu more tensors like these\n", n - kNamed);
    }
    if (n > 0) {
        std::fprintf(
            stderr,
            "rt-gguf: warning: columns without statistics count little beside others, and all "
            "the same where there are no others\n");
    }
}

cli::po::options_description quantize_options() {
    using cli::po::value;
    cli::po::options_description options("options");
    options.add_options()(
        "type", value<std::string>(),
        "type of all tensors with two or more dimensions; 1-D tensors stay as they are")(
        "tensor-type", value<Words>()->composing(),
        "PATTERN=TYPE for tensors by name ('*' any run, '?' one character); the first match "
        "decides; repeatable")("fallback", value<std::string>(),
                               "type for tensors that cannot have the wanted one")(
        "imatrix", value<std::string>(), "importance matrix (GGUF)")(
        "threads", value<std::string>(), "number of threads (default: all CPUs)");
    return options;
}

}  // namespace

int quantize(const Words& words) {
    cli::po::options_description options = quantize_options();
    const Parsed parsed = parse_command(
        "quantize", "Writes OUT, a copy of IN with other tensor types. OUT must not exist.", words,
        options, {"IN", "OUT"});
    if (parsed.help) return cli::kAnswered;
    const auto& given = parsed.options;
    const auto text = [&](const char* name) { return given[name].as<std::string>(); };
    if (!given.count("type")) throw cli::stop(cli::kUsage, "--type is missing");

    Wishes wishes{.type = parse_target(text("type")), .patterns = {}, .fallback = {}};
    if (given.count("tensor-type")) {
        for (const std::string& word : given["tensor-type"].as<Words>())
            wishes.patterns.push_back(parse_pattern(word));
    }
    if (given.count("fallback")) wishes.fallback = parse_target(text("fallback"));
    const int n_threads = given.count("threads")
                              ? static_cast<int>(cli::parse_integer("--threads", text("threads"), 1,
                                                                    GGML_MAX_N_THREADS))
                              : static_cast<int>(tenon_usable_cpus());

    const auto start = std::chrono::steady_clock::now();
    const ModelFile in(parsed.files[0]);
    for (const Tensor& tensor : in.tensors()) in.expect_complete(tensor);  // before any work
    std::unique_ptr<Importance> importance;
    if (given.count("imatrix")) importance = std::make_unique<Importance>(text("imatrix"));
    wishes.importance = importance.get();
    const std::vector<Step> plan = make_plan(in, wishes);
    const Gguf meta = make_metadata(in, plan, wishes.type);
    warn_unused(wishes, plan);
    if (importance) warn_gaps(*importance, plan);

    Writer writer(in, parsed.files[1], n_threads);
    writer.run(plan, meta.get());
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    print_summary(in, parsed.files[1], writer.written(), plan, elapsed.count(), n_threads);
    return cli::kAnswered;
}

}  // namespace tenon::rt_gguf
