// The op table and the representative calls as part of the C API.
#include "core/ops/op_calls.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "core/ops/op_table.h"
#include "tenon/tenon.h"

namespace tenon {
namespace {

const std::span<const CallRow>* const kTables[] = {&kElementwiseCalls, &kLayoutCalls, &kMatrixCalls,
                                                   &kConvCalls, &kRecurrentCalls};

size_t sub_op_count(size_t op) {
    if (op == GGML_OP_UNARY) return GGML_UNARY_OP_COUNT;
    return op == GGML_OP_GLU ? GGML_GLU_OP_COUNT : 0;
}

bool is_call(size_t op, size_t sub_op) {
    return op < GGML_OP_COUNT && sub_op < std::max<size_t>(sub_op_count(op), 1);
}

bool applies(const CallRow& row, size_t op, size_t sub_op) {
    return static_cast<size_t>(row.op) == op && (row.sub_ops >> sub_op & 1u) != 0;
}

struct CallAt {
    const CallRow* row;
    ggml_type type;
};

// The i-th call of an op; row NULL: there are not so many.
CallAt find_call(size_t op, size_t sub_op, size_t i) {
    for (const auto* table : kTables) {
        for (const CallRow& row : *table) {
            if (!applies(row, op, sub_op)) continue;
            if (i < row.types.size()) return {&row, row.types[i]};
            i -= row.types.size();
        }
    }
    return {nullptr, GGML_TYPE_COUNT};
}

// "q4_K f32, matrix", with the type of the result where it is not that of the last source.
void describe(const ggml_tensor& node, const char* what, char* text, size_t bytes) {
    char types[160] = "";
    size_t used = 0;
    ggml_type last = GGML_TYPE_COUNT;
    const auto append = [&](const char* before, ggml_type type) {
        const int n = std::snprintf(types + used, sizeof types - used, "%s%s",
                                    used == 0 ? "" : before, ggml_type_name(type));
        used = std::min(used + static_cast<size_t>(n), sizeof types - 1);
    };
    for (const ggml_tensor* src : node.src) {
        if (src == nullptr || src == &node) continue;
        last = src->type;
        append(" ", last);
    }
    if (node.type != last) append(" -> ", node.type);
    std::snprintf(text, bytes, "%s, %s", types, what);
}

// Copies a record of the caller's struct_size.
template <class Record>
void hand_over(Record record, Record* out) {
    const size_t bytes = std::min<size_t>(out->struct_size, sizeof record);
    record.struct_size = out->struct_size;
    std::memcpy(out, &record, bytes);
}

uint32_t public_flags(uint32_t traits) {
    uint32_t flags = 0;
    if ((traits & kInPlaceOk) != 0) flags |= TENON_OP_IN_PLACE;
    if ((traits & kView) != 0) flags |= TENON_OP_VIEW;
    if ((traits & kWritesView) != 0) flags |= TENON_OP_WRITES_SOURCE;
    return flags;
}

}  // namespace
}  // namespace tenon

using namespace tenon;

extern "C" {

size_t tenon_op_count(void) { return GGML_OP_COUNT; }

bool tenon_op_get(size_t op, tenon_op_info* out) {
    if (out == nullptr || op >= GGML_OP_COUNT) return false;
    const OpRow& row = kOps[op];
    tenon_op_info info{};
    info.op = static_cast<uint32_t>(row.op);
    info.name = row.name;
    info.symbol = row.symbol;
    info.sources = row.sources;
    info.params = row.params;
    info.doc = row.doc;
    info.min_sources = static_cast<uint32_t>(row.min_sources);
    info.max_sources = static_cast<uint32_t>(row.max_sources);
    info.n_sub_ops = static_cast<uint32_t>(sub_op_count(op));
    info.flags = public_flags(row.traits);
    hand_over(info, out);
    return true;
}

bool tenon_sub_op_get(size_t op, size_t sub_op, tenon_sub_op_info* out) {
    if (out == nullptr || sub_op >= sub_op_count(op)) return false;
    const SubOpRow& row = op == GGML_OP_UNARY ? kUnaryOps[sub_op] : kGluOps[sub_op];
    tenon_sub_op_info info{};
    info.sub_op = static_cast<uint32_t>(row.op);
    info.name = row.name;
    info.doc = row.doc;
    hand_over(info, out);
    return true;
}

size_t tenon_op_call_count(size_t op, size_t sub_op) {
    if (!is_call(op, sub_op)) return 0;
    size_t n = 0;
    for (const auto* table : kTables) {
        for (const CallRow& row : *table) n += applies(row, op, sub_op) ? row.types.size() : 0;
    }
    return n;
}

ggml_tensor* tenon_op_call(ggml_context* ctx, size_t op, size_t sub_op, size_t i, char* description,
                           size_t description_bytes) {
    return guard<ggml_tensor*>(nullptr, [&]() -> Result<ggml_tensor*> {
        const CallAt call = is_call(op, sub_op) ? find_call(op, sub_op, i) : CallAt{};
        if (call.row == nullptr) {
            return fail(TENON_E_NOT_FOUND,
                        "op %zu, sub-op %zu has %zu calls, there is no number %zu", op, sub_op,
                        tenon_op_call_count(op, sub_op), i);
        }
        if (ctx == nullptr) return fail(TENON_E_INVALID, "tenon_op_call: the context is NULL");
        ggml_tensor* node = call.row->make({ctx, call.type, static_cast<int>(sub_op)});
        if (node == nullptr) return nullptr;  // the builder has said why
        if (description != nullptr && description_bytes > 0) {
            describe(*node, call.row->what, description, description_bytes);
        }
        return node;
    });
}

}  // extern "C"
