// Names of ops and sub-ops, read from the op table.
#include "core/ops/op_table.h"

using namespace tenon;

namespace {

constexpr const char* kUnknown = "unknown";

template <class Row, size_t n>
const char* name_in(const Row (&rows)[n], int64_t number) {
    return number >= 0 && number < static_cast<int64_t>(n) ? rows[number].name : kUnknown;
}

}  // namespace

extern "C" {

const char* ggml_op_name(ggml_op op) { return name_in(kOps, op); }

const char* ggml_op_symbol(ggml_op op) {
    const OpRow* row = op_row(op);
    return row != nullptr ? row->symbol : kUnknown;
}

const char* ggml_unary_op_name(ggml_unary_op op) { return name_in(kUnaryOps, op); }

const char* ggml_glu_op_name(ggml_glu_op op) { return name_in(kGluOps, op); }

const char* ggml_op_desc(const ggml_tensor* t) {
    if (t == nullptr) return kUnknown;
    if (t->op == GGML_OP_UNARY) return name_in(kUnaryOps, t->op_params[0]);
    if (t->op == GGML_OP_GLU) return name_in(kGluOps, t->op_params[0]);
    return ggml_op_name(t->op);
}

}  // extern "C"
