// The conformance suite: cases per op, computed by the oracle once and by every device, compared.
// The same library serves ctest and rt-plugin-test.
#pragma once

#include <cstdint>
#include <functional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "ggml-backend.h"
#include "sdk/conformance/oracle.h"

namespace tenon::conformance {

struct Shape {
    int64_t ne[GGML_MAX_DIMS];
    Shape(int64_t n0, int64_t n1 = 1, int64_t n2 = 1, int64_t n3 = 1) : ne{n0, n1, n2, n3} {}
    int64_t operator[](int i) const { return ne[i]; }
    int64_t size() const { return ne[0] * ne[1] * ne[2] * ne[3]; }
};
std::string text(const Shape& shape);  // "[64,5,4,3]"

using Random = std::mt19937_64;
float uniform(Random& random, float low, float high);  // the same numbers on every platform

// How a leaf is filled; called once, on host memory of the leaf's type and shape.
using Fill = std::function<void(const ggml_tensor& leaf, Random& random)>;
Fill between(float low, float high);  // any type that holds numbers; quantised types through floats
Fill integers(int64_t low, int64_t high);  // low <= x < high
Fill permutation();                        // every row a permutation of 0 … ne[0]-1
Fill constant(double value);

// Describes one graph. The same description is carried out for the oracle and for each device, so
// it must depend on nothing but the case.
class GraphMaker {
public:
    explicit GraphMaker(ggml_context* context) : ctx(context) {}
    ggml_context* const ctx;

    ggml_tensor* leaf(ggml_type type, const Shape& shape, Fill fill = between(-1, 1));
    ggml_tensor* f32(const Shape& shape, Fill fill = between(-1, 1)) {
        return leaf(GGML_TYPE_F32, shape, fill);
    }

    // A tensor of `shape` that lies permuted in memory: axis i of the result is axis axes[i] of the
    // leaf's, as ggml_permute has it.
    ggml_tensor* permuted(ggml_type type, const Shape& shape, const int (&axes)[4],
                          Fill fill = between(-1, 1));
    // A view into the middle of a larger tensor: rows not adjacent, offset not zero.
    ggml_tensor* inset(ggml_type type, const Shape& shape, Fill fill = between(-1, 1));

    // Makes `t` an output (ggml_set_output) that is compared like the node the case returns. Its
    // nodes are computed before those of later outputs and of the returned node.
    ggml_tensor* output(ggml_tensor* t);

    struct Leaf {
        ggml_tensor* tensor;
        Fill fill;
    };
    const std::vector<Leaf>& leaves() const { return leaves_; }
    const std::vector<ggml_tensor*>& outputs() const { return outputs_; }

private:
    std::vector<Leaf> leaves_;
    std::vector<ggml_tensor*> outputs_;
};

struct Case {
    std::string op;      // "MUL_MAT", "UNARY:GELU"; of a graph that devices may fuse "CHAIN:…"
    std::string params;  // "type=q4_0,ne=[64,5,4,3]": with the op, names the case
    double max_nmse = 1e-7;
    bool optional = false;  // no CPU needs to support it; who claims it must be right
    std::function<ggml_tensor*(GraphMaker&)> build;  // the node to be compared
    bool is_chain() const { return op.starts_with("CHAIN:"); }
};

// Collects the cases of a family.
class CaseList {
public:
    void add(Case c) { cases.push_back(std::move(c)); }
    std::vector<Case> cases;
};
using MakeCases = void (*)(CaseList&);

// The families, one per file of cases/.
void arithmetic_cases(CaseList&);
void activation_cases(CaseList&);
void reduce_cases(CaseList&);
void norm_cases(CaseList&);
void matmul_cases(CaseList&);
void layout_cases(CaseList&);
void rows_cases(CaseList&);
void fill_cases(CaseList&);
void attention_cases(CaseList&);
void conv_cases(CaseList&);
void pool_cases(CaseList&);
void sort_cases(CaseList&);
void recurrent_cases(CaseList&);
void train_cases(CaseList&);
void window_cases(CaseList&);
void custom_cases(CaseList&);
void chain_cases(CaseList&);
void huge_cases(CaseList&);

const std::vector<Case>& all_cases();

enum class Verdict { kPassed, kFailed, kUnsupported };
struct CaseResult {
    Verdict verdict;
    double nmse = 0;
    std::string message;  // with what it takes to repeat a failure
    uint64_t digest = 0;  // of the bytes of the result: equal bytes, equal digests
};

// Cases up to this, in multiply-adds, are run every time; the others take long.
inline constexpr int64_t kEverydayWork = 27'000'000;

// Options of a run. Cases with more work than max_work are left out; of the rest every `stride`-th
// is run.
struct SuiteOptions {
    uint64_t seed = 42;
    int64_t max_work = kEverydayWork;
    int stride = 1;
};

// One case on several devices, the oracle computed once. Results in the order of the devices. A
// chain runs twice: every tensor in memory of its own, and in the memory the graph allocator plans.
std::vector<CaseResult> run_case(const Case& c, std::span<const ggml_backend_t> devices,
                                 uint64_t seed);

// Work of a case in multiply-adds: of each node half its operations (tenon/work.h), or the elements
// of its result where these are more.
int64_t work_of(const Case& c);

}  // namespace tenon::conformance
