// References: the same values somewhere else. What keeps its type is moved as bytes, block by
// block, so that quantised rows and long integers come through as they are.

#include <cstring>

#include "sdk/conformance/oracle.h"

namespace tenon::conformance {
namespace {

struct Index {  // i[0] counts blocks
    int64_t i[GGML_MAX_DIMS];
};

int64_t blocks_of_row(const ggml_tensor& t) { return t.ne[0] / ggml_blck_size(t.type); }

char* block_at(const ggml_tensor& t, const Index& at) {
    char* p = static_cast<char*>(t.data);
    for (int k = 0; k < GGML_MAX_DIMS; ++k) p += at.i[k] * static_cast<int64_t>(t.nb[k]);
    return p;
}

// The k-th block of t, rows first.
Index unravel(const ggml_tensor& t, int64_t k) {
    const int64_t n0 = blocks_of_row(t);
    return {{k % n0, k / n0 % t.ne[1], k / n0 / t.ne[1] % t.ne[2], k / n0 / t.ne[1] / t.ne[2]}};
}

// Every block of the node gets the bytes from(its index, its number); NULL: zeros.
template <class From>
void move_blocks(const ggml_tensor& node, Result& out, From&& from) {
    const size_t bytes = ggml_type_size(node.type);
    const int64_t n = ggml_nelements(&node) / ggml_blck_size(node.type);
    std::vector<char> moved(n * bytes);  // first all, then stored: src0 may be the node's memory
    for (int64_t k = 0; k < n; ++k) {
        if (const char* p = from(unravel(node, k), k))
            std::memcpy(moved.data() + k * bytes, p, bytes);
    }
    for (int64_t k = 0; k < n; ++k)
        std::memcpy(block_at(node, unravel(node, k)), moved.data() + k * bytes, bytes);
    out.keep.assign(ggml_nrows(&node), true);
}

// DUP CPY CONT: element k of src0 becomes element k.
void copy(const ggml_tensor& node, Result& out) {
    const ggml_tensor& a = *node.src[0];
    if (a.type != node.type) {
        out.v = source(node, 0).v;
        return;
    }
    move_blocks(node, out, [&](const Index&, int64_t k) { return block_at(a, unravel(a, k)); });
}

void set(const ggml_tensor& node, Result& out) {
    const auto p = params_of<tenon_set_params>(node);
    const Values a = source(node, 0), b = source(node, 1);
    const auto size = static_cast<int64_t>(ggml_type_size(node.type));
    out.v = a.v;
    // the result is contiguous: a byte offset is an index
    for_each_index(b, [&](int64_t i0, int64_t i1, int64_t i2, int64_t i3) {
        const int64_t bytes = p.offset + i1 * p.nb1 + i2 * p.nb2 + i3 * p.nb3;
        out.v[bytes / size + i0] = b(i0, i1, i2, i3);
    });
}

void repeat(const ggml_tensor& node, Result& out) {
    const ggml_tensor& a = *node.src[0];
    move_blocks(node, out, [&](Index at, int64_t) {
        at.i[0] %= blocks_of_row(a);
        for (int k = 1; k < GGML_MAX_DIMS; ++k) at.i[k] %= a.ne[k];
        return block_at(a, at);
    });
}

void repeat_back(const ggml_tensor& node, Result& out) {
    const Values a = source(node, 0);
    std::fill(out.v.begin(), out.v.end(), 0.0);
    for_each_index(a, [&](int64_t i0, int64_t i1, int64_t i2, int64_t i3) {
        out(i0 % out.ne[0], i1 % out.ne[1], i2 % out.ne[2], i3 % out.ne[3]) += a(i0, i1, i2, i3);
    });
}

void concat(const ggml_tensor& node, Result& out) {
    const int dim = params_of<tenon_concat_params>(node).dim;
    const ggml_tensor& a = *node.src[0];
    const int64_t n_a = dim == 0 ? blocks_of_row(a) : a.ne[dim];
    move_blocks(node, out, [&](Index at, int64_t) {
        if (at.i[dim] < n_a) return block_at(a, at);
        at.i[dim] -= n_a;
        return block_at(*node.src[1], at);
    });
}

void pad(const ggml_tensor& node, Result& out) {
    const auto p = params_of<tenon_pad_params>(node);
    const int64_t left[] = {p.left0, p.left1, p.left2, p.left3};
    const ggml_tensor& a = *node.src[0];
    move_blocks(node, out, [&](Index at, int64_t) -> const char* {
        for (int k = 0; k < GGML_MAX_DIMS; ++k) {
            at.i[k] -= left[k];
            if (p.circular) at.i[k] = (at.i[k] % a.ne[k] + a.ne[k]) % a.ne[k];
            if (at.i[k] < 0 || at.i[k] >= a.ne[k]) return nullptr;
        }
        return block_at(a, at);
    });
}

void pad_reflect_1d(const ggml_tensor& node, Result& out) {
    const auto p = params_of<tenon_pad_reflect_1d_params>(node);
    const ggml_tensor& a = *node.src[0];
    move_blocks(node, out, [&](Index at, int64_t) {
        int64_t& i = at.i[0];
        i -= p.left;
        if (i < 0) i = -i;
        if (i >= a.ne[0]) i = 2 * (a.ne[0] - 1) - i;
        return block_at(a, at);
    });
}

void roll(const ggml_tensor& node, Result& out) {
    const auto p = params_of<tenon_roll_params>(node);
    const ggml_tensor& a = *node.src[0];
    move_blocks(node, out, [&](Index at, int64_t) {
        for (int k = 0; k < GGML_MAX_DIMS; ++k)
            at.i[k] = ((at.i[k] - p.shift[k]) % a.ne[k] + a.ne[k]) % a.ne[k];
        return block_at(a, at);
    });
}

constexpr Reference kTable[] = {
    {GGML_OP_DUP, copy},      {GGML_OP_CPY, copy},      {GGML_OP_CONT, copy},
    {GGML_OP_SET, set},       {GGML_OP_REPEAT, repeat}, {GGML_OP_REPEAT_BACK, repeat_back},
    {GGML_OP_CONCAT, concat}, {GGML_OP_PAD, pad},       {GGML_OP_PAD_REFLECT_1D, pad_reflect_1d},
    {GGML_OP_ROLL, roll},
};

}  // namespace

const std::span<const Reference> kLayoutReferences{kTable};

}  // namespace tenon::conformance
