// Recorded graphs: reading them, computing them on a device, comparing every recorded node.

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <stdexcept>

#include "ggml-cpp.h"
#include "tenon/tenon.h"
#include "tests/conformance/golden.h"
#include "tests/conformance/golden_compare.h"

namespace tenon::conformance {
namespace {

class Reader {
public:
    explicit Reader(const std::string& path) : path_(path), bytes_(golden_bytes(path)) {}
    template <class T>
    T get() {
        T value;
        std::memcpy(&value, take(sizeof value), sizeof value);
        return value;
    }
    template <class T, size_t N>
    void get(T (&array)[N]) {
        std::memcpy(array, take(sizeof array), sizeof array);
    }
    std::string text() {
        const auto n = get<uint32_t>();
        return {take(n), n};
    }
    std::vector<char> data() {
        const auto n = get<uint64_t>();
        const char* p = take(n);
        return {p, p + n};
    }

private:
    const char* take(uint64_t n) {
        if (n > bytes_.size() - at_) {
            throw std::runtime_error(path_ + ": " + std::to_string(n) + " bytes wanted at " +
                                     std::to_string(at_) + ", file has " +
                                     std::to_string(bytes_.size()));
        }
        at_ += n;
        return bytes_.data() + at_ - n;
    }
    std::string path_;
    std::vector<char> bytes_;
    size_t at_ = 0;
};

constexpr char kMagic[] = "TNGOLD1";
constexpr uint64_t kMaxFileBytes = 1u << 30;

const std::map<std::string, ggml_op>& ops_by_name() {
    static const auto* ops = [] {
        auto* all = new std::map<std::string, ggml_op>;
        for (int i = 0; i < GGML_OP_COUNT; ++i)
            (*all)[ggml_op_name(static_cast<ggml_op>(i))] = static_cast<ggml_op>(i);
        return all;
    }();
    return *ops;
}

GoldenTensor read_tensor(Reader& in) {
    GoldenTensor t;
    t.op = in.text();
    t.sub_op = in.text();
    t.name = in.text();
    t.type = in.get<int32_t>();
    t.flags = in.get<int32_t>();
    in.get(t.op_params);
    in.get(t.ne);
    in.get(t.nb);
    in.get(t.src);
    t.view_src = in.get<int32_t>();
    t.view_offs = in.get<uint64_t>();
    t.kind = static_cast<GoldenTensor::Kind>(in.get<uint8_t>());
    t.bytes = in.data();
    return t;
}

[[noreturn]] void refuse(size_t i, const GoldenTensor& g, const std::string& why) {
    throw std::runtime_error("tensor " + std::to_string(i) + " '" + g.name + "': " + why);
}

// An index into the tensors made so far; a record names only earlier ones.
ggml_tensor* earlier(const std::vector<ggml_tensor*>& made, int32_t index, const GoldenTensor& g) {
    if (index < 0) return nullptr;
    if (static_cast<size_t>(index) >= made.size()) {
        refuse(made.size(), g,
               "reads tensor " + std::to_string(index) + ", only " + std::to_string(made.size()) +
                   " come before it");
    }
    return made[index];
}

// The recorded tensors as tensors of a context, in the recorded order; throws for one that is not
// what it seems.
std::vector<ggml_tensor*> make_tensors(ggml_context* ctx, const GoldenGraph& graph,
                                       const CheckTensor& check) {
    std::vector<ggml_tensor*> made;
    for (const GoldenTensor& g : graph.tensors) {
        const size_t i = made.size();
        ggml_tensor* t = ggml_new_tensor(ctx, static_cast<ggml_type>(g.type), GGML_MAX_DIMS, g.ne);
        if (!t) refuse(i, g, tenon_last_error());
        std::copy(std::begin(g.nb), std::end(g.nb), t->nb);
        std::memcpy(t->op_params, g.op_params, sizeof t->op_params);
        const auto op = ops_by_name().find(g.op);
        if (op == ops_by_name().end()) refuse(i, g, "unknown op '" + g.op + "'");
        t->op = op->second;
        t->flags = g.flags;
        t->view_offs = g.view_offs;
        t->view_src = earlier(made, g.view_src, g);
        for (int s = 0; s < GGML_MAX_SRC; ++s) t->src[s] = earlier(made, g.src[s], g);
        ggml_set_name(t, g.name.c_str());
        if (const std::string why = check ? check(*t, g) : ""; !why.empty()) refuse(i, g, why);
        made.push_back(t);
    }
    if (graph.output < 0 || static_cast<size_t>(graph.output) >= made.size()) {
        throw std::runtime_error("output " + std::to_string(graph.output) + " of " +
                                 std::to_string(made.size()) + " tensors");
    }
    return made;
}

// Where the library that made the records left something else than the op's value.
bool is_wrong_record(const GoldenGraph& graph, const std::vector<ggml_tensor*>& tensors, size_t i) {
    const ggml_tensor& t = *tensors[i];
    // It summed a transposed tensor as if its rows were dense.
    if (t.op == GGML_OP_SUM) return t.src[0]->nb[0] != ggml_type_size(t.src[0]->type);
    // It computed RMS_NORM and the MUL that follows in one go and never stored the former.
    if (t.op != GGML_OP_RMS_NORM || static_cast<int32_t>(i) == graph.output) return false;
    return std::any_of(tensors.begin(), tensors.end(), [&](const ggml_tensor* reader) {
        return reader->op == GGML_OP_MUL && (reader->src[0] == &t || reader->src[1] == &t);
    });
}

// "src0 must be f32 (MUL_MAT)", or "" when the device takes every node.
std::string refusal(ggml_backend_t backend, const std::vector<ggml_tensor*>& tensors) {
    for (const ggml_tensor* t : tensors) {
        if (t->op != GGML_OP_NONE && !ggml_backend_supports_op(backend, t)) {
            return std::string(ggml_op_desc(t)) + " is not supported here";
        }
    }
    return "";
}

size_t arena_bytes(size_t n_tensors) {
    return (n_tensors + 1) * ggml_tensor_overhead() +
           ggml_graph_overhead_custom(2 * n_tensors + 8, false);
}

void set_leaves(const GoldenGraph& graph, const std::vector<ggml_tensor*>& tensors) {
    for (size_t i = 0; i < tensors.size(); ++i) {
        const GoldenTensor& g = graph.tensors[i];
        if (g.kind == GoldenTensor::kLeaf && !g.bytes.empty()) {
            ggml_backend_tensor_set(tensors[i], g.bytes.data(), 0, g.bytes.size());
        }
    }
}

// A graph of several nodes is computed twice: once with every node an output, once as it was
// recorded, when a device may compute several nodes at once and leave out what lies between.
enum class Look { kEveryNode, kOutputs };

bool is_compared(const GoldenGraph& graph, size_t i, Look look) {
    const GoldenTensor& t = graph.tensors[i];
    if (t.kind != GoldenTensor::kComputed) return false;
    return look == Look::kEveryNode || static_cast<int32_t>(i) == graph.output ||
           (t.flags & GGML_TENSOR_FLAG_OUTPUT);
}

// The recorded nodes against what the tensors hold now.
GoldenResult compare_all(const GoldenGraph& graph, const std::vector<ggml_tensor*>& tensors,
                         Look look) {
    double worst = 0;
    char numbers[96];
    for (size_t i = 0; i < tensors.size(); ++i) {
        if (!is_compared(graph, i, look)) continue;
        if (is_wrong_record(graph, tensors, i)) {
            if (static_cast<int32_t>(i) == graph.output)
                return {Outcome::kSkipped, graph.name, graph.params, kWrongRecord};
            continue;
        }
        const Comparison c = compare_node(graph, tensors, i);
        worst = std::max(worst, c.nmse);
        if (c.ok) continue;
        std::snprintf(numbers, sizeof numbers, "NMSE %.3g, limit %.3g, ", c.nmse, graph.max_nmse);
        return {Outcome::kFailed, graph.name, graph.params,
                numbers + std::string("node ") + std::to_string(i) + " " +
                    ggml_op_desc(tensors[i]) + ", " + c.why};
    }
    std::snprintf(numbers, sizeof numbers, "NMSE %.3g, limit %.3g", worst, graph.max_nmse);
    return {Outcome::kPassed, graph.name, graph.params, numbers};
}

// Memory for all of them; results in a buffer of usage COMPUTE.
std::vector<ggml_backend_buffer_ptr> place(ggml_backend_t backend,
                                           const std::vector<ggml_tensor*>& tensors) {
    ggml_backend_buffer_type_t buft = ggml_backend_get_default_buffer_type(backend);
    const size_t alignment = ggml_backend_buft_get_alignment(buft);
    std::vector<ggml_backend_buffer_ptr> buffers;
    for (const bool leaves : {true, false}) {
        std::vector<ggml_tensor*> here;
        size_t bytes = alignment;
        for (size_t i = 0; i < tensors.size(); ++i) {
            if (tensors[i]->view_src || (tensors[i]->op == GGML_OP_NONE) != leaves) continue;
            here.push_back(tensors[i]);
            bytes += GGML_PAD(ggml_backend_buft_get_alloc_size(buft, tensors[i]), alignment);
        }
        ggml_backend_buffer_t buffer = ggml_backend_buft_alloc_buffer(buft, bytes);
        if (!buffer) throw std::runtime_error(tenon_last_error());
        buffers.emplace_back(buffer);
        if (!leaves) ggml_backend_buffer_set_usage(buffer, GGML_BACKEND_BUFFER_USAGE_COMPUTE);
        ggml_tallocr at = ggml_tallocr_new(buffer);
        for (ggml_tensor* t : here) {
            if (ggml_tallocr_alloc(&at, t) != GGML_STATUS_SUCCESS)
                throw std::runtime_error(tenon_last_error());
        }
    }
    for (ggml_tensor* t : tensors) {
        if (t->view_src && ggml_backend_view_init(t) != GGML_STATUS_SUCCESS)
            throw std::runtime_error(tenon_last_error());
    }
    return buffers;
}

GoldenResult run(ggml_backend_t backend, const GoldenGraph& graph, Look look,
                 const CheckTensor& check) {
    const size_t n = graph.tensors.size();
    ggml_context_ptr ctx(ggml_init({arena_bytes(n), nullptr, /*no_alloc=*/true}));
    const auto tensors = make_tensors(ctx.get(), graph, check);
    if (const std::string why = refusal(backend, tensors); !why.empty()) {
        return {Outcome::kSkipped, graph.name, graph.params, why};
    }
    const auto buffers = place(backend, tensors);
    set_leaves(graph, tensors);
    for (size_t i = 0; i < n; ++i) {
        if (is_compared(graph, i, look)) ggml_set_output(tensors[i]);
    }
    ggml_cgraph* cgraph = ggml_new_graph_custom(ctx.get(), 2 * n + 8, false);
    for (ggml_tensor* t : tensors) {
        if (t->op != GGML_OP_NONE) ggml_build_forward_expand(cgraph, t);
    }
    if (ggml_backend_graph_compute(backend, cgraph) != GGML_STATUS_SUCCESS) {
        throw std::runtime_error(tenon_last_error());
    }
    return compare_all(graph, tensors, look);
}

GoldenResult run_twice(ggml_backend_t backend, const GoldenGraph& graph, const CheckTensor& check) {
    GoldenResult result = run(backend, graph, Look::kEveryNode, check);
    const auto computed =
        std::count_if(graph.tensors.begin(), graph.tensors.end(),
                      [](const GoldenTensor& t) { return t.kind == GoldenTensor::kComputed; });
    if (result.outcome != Outcome::kPassed || computed < 2) return result;
    GoldenResult again = run(backend, graph, Look::kOutputs, check);
    if (again.outcome == Outcome::kPassed) return result;
    again.message += ", with intermediates that nobody sees";
    return again;
}

GoldenResult run_on_host(const GoldenGraph& graph, const ComputeNode& compute) {
    ggml_context_ptr ctx(
        ggml_init({arena_bytes(graph.tensors.size()), nullptr, /*no_alloc=*/true}));
    const auto tensors = make_tensors(ctx.get(), graph, {});
    ggml_backend_buffer_ptr buffer(
        ggml_backend_alloc_ctx_tensors_from_buft(ctx.get(), ggml_backend_cpu_buffer_type()));
    if (!buffer) throw std::runtime_error(tenon_last_error());
    set_leaves(graph, tensors);
    for (const ggml_tensor* t : tensors) {
        if (t->op != GGML_OP_NONE) compute(*t);
    }
    return compare_all(graph, tensors, Look::kEveryNode);
}

}  // namespace

std::vector<char> golden_bytes(const std::string& path) {
    std::error_code error;
    const auto type = std::filesystem::status(path, error).type();
    if (type == std::filesystem::file_type::not_found) {
        throw std::runtime_error(path + ": no such file");
    }
    if (type != std::filesystem::file_type::regular) {  // a FIFO would be waited for
        throw std::runtime_error(path + ": not a regular file");
    }
    const uint64_t n = std::filesystem::file_size(path, error);
    if (!error && n > kMaxFileBytes) {
        throw std::runtime_error(path + ": " + std::to_string(n) + " bytes, at most " +
                                 std::to_string(kMaxFileBytes) + " make a golden file");
    }
    std::ifstream file(path, std::ios::binary);
    if (error || !file) throw std::runtime_error(path + ": cannot be read");
    std::vector<char> bytes(n);
    file.read(bytes.data(), static_cast<std::streamsize>(n));
    if (static_cast<uint64_t>(file.gcount()) != n) {
        throw std::runtime_error(path + ": " + std::to_string(file.gcount()) + " of " +
                                 std::to_string(n) + " bytes can be read");
    }
    return bytes;
}

bool is_golden_ops(const std::string& path) {
    const std::vector<char> bytes = golden_bytes(path);
    char magic[8] = {};
    std::copy_n(bytes.data(), std::min(bytes.size(), sizeof magic), magic);
    if (std::memcmp(magic, kMagic, sizeof kMagic) == 0) return true;
    if (std::memcmp(magic, "TGT1", 4) == 0) return false;
    throw std::runtime_error(path + ": is no golden file");
}

std::vector<GoldenGraph> read_golden_ops(const std::string& path) {
    Reader in(path);
    char magic[8];
    in.get(magic);
    std::vector<GoldenGraph> graphs;
    const auto n_graphs = in.get<uint32_t>();
    for (uint32_t k = 0; k < n_graphs; ++k) {
        GoldenGraph& graph = graphs.emplace_back();
        graph.name = in.text();
        graph.params = in.text();
        graph.max_nmse = in.get<double>();
        graph.output = in.get<int32_t>();
        const auto n = in.get<uint32_t>();
        for (uint32_t i = 0; i < n; ++i) graph.tensors.push_back(read_tensor(in));
    }
    return graphs;
}

namespace {

template <class Run>
void report(const GoldenGraph& graph, const OnResult& on_result, Run&& run_it) {
    GoldenResult result;
    try {
        tenon_clear_error();
        result = run_it();
    } catch (const std::exception& e) {
        result = {Outcome::kFailed, graph.name, graph.params, e.what()};
    }
    on_result(result);
}

}  // namespace

void run_golden_graph(ggml_backend_t backend, const GoldenGraph& graph, const OnResult& on_result,
                      const CheckTensor& check) {
    report(graph, on_result, [&] { return run_twice(backend, graph, check); });
}

void run_golden_graph_on_host(const GoldenGraph& graph, const ComputeNode& compute,
                              const OnResult& on_result) {
    report(graph, on_result, [&] { return run_on_host(graph, compute); });
}

void run_golden_file(ggml_backend_t backend, const std::string& path, const OnResult& on_result,
                     const CheckTensor& check) {
    try {
        if (!is_golden_ops(path)) return run_golden_type(path, on_result);
        for (const GoldenGraph& graph : read_golden_ops(path))
            run_golden_graph(backend, graph, on_result, check);
    } catch (const std::exception& e) {
        on_result({Outcome::kFailed, path, "", e.what()});
    }
}

std::vector<std::string> golden_files(const std::string& directory) {
    std::set<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(directory)) {
        const std::string name = entry.path().filename().string();
        if (entry.path().extension() == ".bin" && name != "inputs.bin" &&
            name != "f16_to_f32.bin") {
            files.insert(entry.path().string());
        }
    }
    return {files.begin(), files.end()};
}

}  // namespace tenon::conformance
