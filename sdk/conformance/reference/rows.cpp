// References: rows by index.

#include "sdk/conformance/oracle.h"

namespace tenon::conformance {
namespace {

int64_t checked(double id, int64_t n) {
    const auto i = static_cast<int64_t>(id);
    if (i < 0 || i >= n)
        throw std::runtime_error("row " + std::to_string(i) + " of " + std::to_string(n));
    return i;
}

void get_rows(const ggml_tensor& node, Result& out) {
    const Values a = source(node, 0), ids = source(node, 1);
    for_each_index(out, [&](int64_t i0, int64_t i1, int64_t i2, int64_t i3) {
        out(i0, i1, i2, i3) = a(i0, checked(ids(i1, i2, i3), a.ne[1]), i2, i3);
    });
}

void get_rows_back(const ggml_tensor& node, Result& out) {
    const Values g = source(node, 0), ids = source(node, 1);
    std::fill(out.v.begin(), out.v.end(), 0.0);
    for (int64_t r = 0; r < ids.ne[0]; ++r) {  // g may have more rows than there are ids
        const int64_t to = checked(ids(r), out.ne[1]);
        for (int64_t i0 = 0; i0 < out.ne[0]; ++i0) out(i0, to) += g(i0, r);
    }
}

// Rows that are not addressed keep their bytes.
void set_rows(const ggml_tensor& node, Result& out) {
    const Values rows = source(node, 0), ids = source(node, 1);
    out.keep.assign(out.ne[1] * out.ne[2] * out.ne[3], true);
    for_each_index(rows, [&](int64_t i0, int64_t i1, int64_t i2, int64_t i3) {
        const int64_t to = checked(ids(i1, i2 % ids.ne[1], i3 % ids.ne[2]), out.ne[1]);
        out(i0, to, i2, i3) = rows(i0, i1, i2, i3);
        out.keep[to + out.ne[1] * (i2 + out.ne[2] * i3)] = false;
    });
}

constexpr Reference kTable[] = {
    {GGML_OP_GET_ROWS, get_rows},
    {GGML_OP_GET_ROWS_BACK, get_rows_back},
    {GGML_OP_SET_ROWS, set_rows},
};

}  // namespace

const std::span<const Reference> kRowsReferences{kTable};

}  // namespace tenon::conformance
