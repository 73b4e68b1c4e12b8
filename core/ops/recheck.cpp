// check_node(): the row's shape rule for the node's own shape, and the one rule of layout.
#include "core/ops/recheck.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <limits>
#include <optional>

#include "core/base/bits.h"
#include "core/ops/op_table.h"
#include "core/tensor/shape.h"
#include "tenon/op_params.h"
#include "tenon/tensor.h"

namespace tenon {
namespace {

constexpr int kResult = -1;  // in place of a source's number

// "[4, 3, 1, 1]"
template <class Number>
struct FourText {
    char text[4 * 22 + 4];
    explicit FourText(const Number (&n)[GGML_MAX_DIMS]) {
        std::snprintf(text, sizeof text, "[%lld, %lld, %lld, %lld]", (long long)n[0],
                      (long long)n[1], (long long)n[2], (long long)n[3]);
    }
};

// The type and shape that the op's builder asks its rule for.
NodeShape asked_of(const ggml_tensor& node) {
    // of POOL_2D_BACK: that of the gradient, which its builder works out
    const ggml_tensor& of = node.op == GGML_OP_POOL_2D_BACK ? *node.src[0] : node;
    return {node.type, {of.ne[0], of.ne[1], of.ne[2], of.ne[3]}};
}

// Which dimension of the tensor below a chain of PERMUTE and TRANSPOSE is now dimension 0.
int first_dimension(const ggml_tensor& t) {
    int dim = 0;
    const ggml_tensor* view = &t;
    for (int n = 0; n < 64 && view && tenon_is_view_op(view->op); ++n, view = view->src[0]) {
        if (view->op == GGML_OP_TRANSPOSE) {
            if (dim < 2) dim = 1 - dim;
        } else if (view->op == GGML_OP_PERMUTE) {
            tenon_permute_params p;
            std::memcpy(&p, view->op_params, sizeof p);
            const int32_t* axis = std::find(std::begin(p.axis), std::end(p.axis), dim);
            if (axis != std::end(p.axis)) dim = static_cast<int>(axis - std::begin(p.axis));
        } else {  // RESHAPE and VIEW lay out rows of their own
            break;
        }
    }
    return dim;
}

bool is_multiple(size_t n, size_t of) {
    return is_power_of_two(of) ? (n & (of - 1)) == 0 : n % of == 0;
}

// Whether elements follow each other without gaps, in order: the strides of nearly all tensors.
bool is_packed(const ggml_tensor& t, const tenon_type& type) {
    if (t.nb[0] != type.bytes) return false;
    size_t next = type.bytes * static_cast<size_t>(t.ne[0] / type.block);
    for (int k = 1; k < GGML_MAX_DIMS; ++k) {
        if (t.ne[k] != 1 && t.nb[k] != next) return false;
        next *= static_cast<size_t>(t.ne[k]);
    }
    return true;
}

class Recheck {
public:
    explicit Recheck(const ggml_tensor& node) : node_(node) {}

    bool run();
    Error error() const { return *error_; }

private:
    bool reject(const char* fmt, ...) GGML_ATTRIBUTE_FORMAT(2, 3);
    bool fits(const ggml_tensor& t, int which);
    bool sources_fit(const OpRow& row);
    bool rule_fits(const OpRow& row);
    bool layout_fits(const ggml_tensor& t, int which);
    bool blocks_fit(const ggml_tensor& t, int which, size_t bytes);
    bool strides_fit(const ggml_tensor& t, int which, size_t bytes);
    bool view_fits(const ggml_tensor& t, int which, size_t bytes);
    bool overlaps() const;

    // "src1 'name'", or "the result".
    const char* name(const ggml_tensor& t, int which);

    const ggml_tensor& node_;
    std::optional<Error> error_;
    char name_[GGML_MAX_NAME + 16];
};

bool Recheck::reject(const char* fmt, ...) {
    char text[sizeof(Error::text)];
    va_list args;
    va_start(args, fmt);
    std::vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    error_ = fail(TENON_E_INVALID, "node '%s' (%s): %s", node_.name, ggml_op_name(node_.op), text);
    return false;
}

const char* Recheck::name(const ggml_tensor& t, int which) {
    if (which == kResult) return "the result";
    std::snprintf(name_, sizeof name_, t.name[0] ? "src%d '%s'" : "src%d", which, t.name);
    return name_;
}

// ---- what every tensor must be ----------------------------------------------------------------

// Its type exists, and neither the number of its elements nor that of their bytes passes 2^63,
// empty dimensions counted as 1.
bool Recheck::fits(const ggml_tensor& t, int which) {
    if (!is_usable_type(t.type)) {
        return reject("%s has type %d, which does not exist", name(t, which), (int)t.type);
    }
    int64_t n = static_cast<int64_t>(tenon_types[t.type].bytes);
    for (const int64_t extent : t.ne) {
        if (extent < 0 || __builtin_mul_overflow(n, std::max<int64_t>(extent, 1), &n)) {
            return reject("%s has shape %s, which no memory holds", name(t, which),
                          FourText(t.ne).text);
        }
    }
    return true;
}

// ---- the rule of the op -----------------------------------------------------------------------

bool Recheck::sources_fit(const OpRow& row) {
    for (int k = 0; k < GGML_MAX_SRC; ++k) {
        const ggml_tensor* src = node_.src[k];
        if (!src) {
            if (k < row.min_sources) {
                return reject("source %d of %d is null", k, row.min_sources);
            }
            continue;
        }
        if (k >= row.max_sources) {
            return reject("has a source %d, takes %d", k, row.max_sources);
        }
        // A conversion is made as if the new tensor were copied into itself.
        if (src == &node_ && !(node_.op == GGML_OP_CPY && k == 1)) {
            return reject("it is its own source %d", k);
        }
        if (!fits(*src, k)) return false;
    }
    return true;
}

bool Recheck::rule_fits(const OpRow& row) {
    int n_src = GGML_MAX_SRC;
    while (n_src > 0 && !node_.src[n_src - 1]) --n_src;
    // ADD has two builders: only the one that converts asks for a type.
    const bool is_plain_add = node_.op == GGML_OP_ADD && node_.type == node_.src[0]->type;
    const NodeShape asked = asked_of(node_);
    const auto want =
        row.shape({row, node_.src, n_src, node_.op_params, is_plain_add ? nullptr : &asked});
    if (!want) {  // its text begins with the op's name, as ours does
        const char* text = want.error().text;
        const size_t n = std::strlen(row.name);
        if (std::strncmp(text, row.name, n) == 0 && text[n] == ':') text += n + 2;
        reject("%s", text);
        error_->code = want.error().code;
        return false;
    }
    if (want->type == node_.type && std::ranges::equal(want->ne, node_.ne)) return true;
    return reject("it is %s %s, must be %s %s", ggml_type_name(node_.type), FourText(node_.ne).text,
                  ggml_type_name(want->type), FourText(want->ne).text);
}

// ---- the rule of layout -----------------------------------------------------------------------

// Whole blocks, in rows along dimension 0: a row that was turned has none.
bool Recheck::blocks_fit(const ggml_tensor& t, int which, size_t bytes) {
    const int64_t block = tenon_types[t.type].block;
    const char* type = tenon_types[t.type].name;
    if (t.ne[0] % block != 0) {
        return reject("%s has rows of %lld elements, no multiple of the %lld in a block of %s",
                      name(t, which), (long long)t.ne[0], (long long)block, type);
    }
    if (const int from = first_dimension(t); from != 0) {
        return reject(
            "%s is a %s tensor on its side: dimension 0 was dimension %d, and rows of "
            "blocks cannot be turned",
            name(t, which), type, from);
    }
    if (t.nb[0] != bytes) {
        return reject("%s has blocks of %s at a distance of %zu bytes, must be %zu", name(t, which),
                      type, t.nb[0], bytes);
    }
    return true;
}

// Strides are whole elements (blocks).
bool Recheck::strides_fit(const ggml_tensor& t, int which, size_t bytes) {
    for (int k = 0; k < GGML_MAX_DIMS; ++k) {
        if (t.ne[k] <= 1 || is_multiple(t.nb[k], bytes)) continue;
        return reject("%s has nb[%d] = %zu, no multiple of the %zu bytes of %s", name(t, which), k,
                      t.nb[k], bytes, tenon_types[t.type].name);
    }
    if (nbytes(t) <= static_cast<size_t>(std::numeric_limits<int64_t>::max())) return true;
    return reject("%s has strides %s, whose reach passes 2^63 bytes", name(t, which),
                  FourText(t.nb).text);
}

// It begins at an element (block), and lies inside what it is a view of.
bool Recheck::view_fits(const ggml_tensor& t, int which, size_t bytes) {
    const ggml_tensor& root = *t.view_src;
    if (!is_usable_type(root.type)) {
        return reject("%s is a view of '%s' of type %d, which does not exist", name(t, which),
                      root.name, (int)root.type);
    }
    if (!is_multiple(t.view_offs, bytes)) {
        return reject("%s begins %zu bytes into '%s', no multiple of the %zu bytes of %s",
                      name(t, which), t.view_offs, root.name, bytes, tenon_types[t.type].name);
    }
    if (is_inside(t)) return true;
    return reject("%s is a view of %zu bytes at %zu, outside of the %zu bytes of '%s'",
                  name(t, which), nbytes(t), t.view_offs, nbytes(root), root.name);
}

bool Recheck::layout_fits(const ggml_tensor& t, int which) {
    if (is_empty(t)) return true;
    const tenon_type& type = tenon_types[t.type];
    if (type.block != 1 && !blocks_fit(t, which, type.bytes)) return false;
    if (!is_packed(t, type) && !strides_fit(t, which, type.bytes)) return false;
    return !t.view_src || view_fits(t, which, type.bytes);
}

// Whether two elements of the result share bytes. Dimensions in order of their strides: each must
// reach beyond the ones before.
bool Recheck::overlaps() const {
    const tenon_type& type = tenon_types[node_.type];
    struct Dimension {
        size_t stride, n;
    } dims[GGML_MAX_DIMS];
    int n_dims = 0;
    for (int k = 0; k < GGML_MAX_DIMS; ++k) {
        const int64_t n = k == 0 ? node_.ne[0] / type.block : node_.ne[k];
        if (n <= 1) continue;
        int at = n_dims++;  // by stride
        for (; at > 0 && dims[at - 1].stride > node_.nb[k]; --at) dims[at] = dims[at - 1];
        dims[at] = {node_.nb[k], static_cast<size_t>(n)};
    }
    size_t reach = type.bytes;
    for (int i = 0; i < n_dims; ++i) {
        if (dims[i].stride < reach) return true;
        reach += dims[i].stride * (dims[i].n - 1);
    }
    return false;
}

bool Recheck::run() {
    const OpRow* row = op_row(node_.op);
    if (!row) {
        error_ = fail(TENON_E_UNSUPPORTED, "node '%s': there is no op %d", node_.name,
                      static_cast<int>(node_.op));
        return false;
    }
    if (!fits(node_, kResult) || !sources_fit(*row)) return false;
    if (row->shape && !rule_fits(*row)) return false;
    if (tenon_is_view_op(node_.op)) return true;
    for (int k = 0; k < row->max_sources; ++k) {
        const ggml_tensor* src = node_.src[k];
        if (src && src != &node_ && !layout_fits(*src, k)) return false;
    }
    if (!layout_fits(node_, kResult)) return false;
    if (is_empty(node_) || is_packed(node_, tenon_types[node_.type]) || !overlaps()) return true;
    return reject("elements of the result overlap: shape %s, strides %s", FourText(node_.ne).text,
                  FourText(node_.nb).text);
}

}  // namespace

Result<void> check_node(const ggml_tensor& node) {
    Recheck check(node);
    if (check.run()) return {};
    return check.error();
}

}  // namespace tenon
