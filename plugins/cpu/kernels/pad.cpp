// PAD: src0 with zeros, or (circular) with its own elements over and over, around it.
// PAD_REFLECT_1D: rows with their mirror images around them. ROLL: elements moved along each
// dimension, those that leave at one end come in at the other. All move bytes.

#include "plugins/cpu/kernel.h"
#include "plugins/cpu/kernels/move.h"

namespace tenon::cpu {
namespace {

Verdict supports_types(const ggml_tensor& node) {
    if (type_size(node.type).block != 1)
        return no(TENON_REASON_TYPE, "elements must not be in blocks");
    return yes();
}

// i mod n, never negative
int64_t wrapped(int64_t i, int64_t n) {
    const int64_t r = i % n;
    return r < 0 ? r + n : r;
}

// Elements [begin, end) of a row of dst from those of src that start at `at` and wrap around.
void move_wrapped(const ggml_tensor& node, char* dst, const char* src, int64_t at) {
    const ggml_tensor& a = *node.src[0];
    const size_t bytes = type_size(node.type).bytes;
    for (int64_t i = 0; i < node.ne[0];) {
        const int64_t n = std::min(a.ne[0] - at, node.ne[0] - i);
        move_run(dst + static_cast<size_t>(i) * node.nb[0], node.nb[0],
                 src + static_cast<size_t>(at) * a.nb[0], a.nb[0], n, bytes);
        i += n;
        at = 0;
    }
}

// ---- PAD --------------------------------------------------------------------------------------

struct Padding {
    int64_t left[GGML_MAX_DIMS], right[GGML_MAX_DIMS];
    bool circular;
};
Padding padding_of(const ggml_tensor& node) {
    const auto p = params_of<tenon_pad_params>(node);
    return {{p.left0, p.left1, p.left2, p.left3},
            {p.right0, p.right1, p.right2, p.right3},
            p.circular != 0};
}

void clear_elements(const ggml_tensor& node, char* dst, int64_t begin, int64_t end) {
    const size_t bytes = type_size(node.type).bytes;
    if (node.nb[0] == bytes) {
        std::memset(dst + static_cast<size_t>(begin) * bytes, 0,
                    static_cast<size_t>(end - begin) * bytes);
        return;
    }
    for (int64_t i = begin; i < end; ++i)
        std::memset(dst + static_cast<size_t>(i) * node.nb[0], 0, bytes);
}

void pad_with_zeros(const Task& task, const ggml_tensor& node, const Padding& p) {
    const ggml_tensor& a = *node.src[0];
    const int64_t n = node.ne[0];
    // What src0 covers of a row; negative padding cuts it short.
    const int64_t begin = std::clamp<int64_t>(p.left[0], 0, n);
    const int64_t end = std::clamp(p.left[0] + a.ne[0], begin, n);
    for_each_row(task, node, [&](int64_t i1, int64_t i2, int64_t i3) {
        char* dst = row<char>(node, i1, i2, i3);
        const int64_t k1 = i1 - p.left[1], k2 = i2 - p.left[2], k3 = i3 - p.left[3];
        if (k1 < 0 || k1 >= a.ne[1] || k2 < 0 || k2 >= a.ne[2] || k3 < 0 || k3 >= a.ne[3])
            return clear_elements(node, dst, 0, n);
        clear_elements(node, dst, 0, begin);
        if (begin < end) {
            move_run(dst + static_cast<size_t>(begin) * node.nb[0], node.nb[0],
                     element<const char>(a, begin - p.left[0], k1, k2, k3), a.nb[0], end - begin,
                     type_size(node.type).bytes);
        }
        clear_elements(node, dst, end, n);
    });
}

void run_pad(const Task& task, const ggml_tensor& node) {
    const ggml_tensor& a = *node.src[0];
    const Padding p = padding_of(node);
    if (!p.circular) return pad_with_zeros(task, node, p);
    for_each_row(task, node, [&](int64_t i1, int64_t i2, int64_t i3) {
        move_wrapped(
            node, row<char>(node, i1, i2, i3),
            row<const char>(a, wrapped(i1 - p.left[1], a.ne[1]), wrapped(i2 - p.left[2], a.ne[2]),
                            wrapped(i3 - p.left[3], a.ne[3])),
            wrapped(-p.left[0], a.ne[0]));
    });
}

// ---- PAD_REFLECT_1D ---------------------------------------------------------------------------

void run_reflect(const Task& task, const ggml_tensor& node) {
    const ggml_tensor& a = *node.src[0];
    const auto p = params_of<tenon_pad_reflect_1d_params>(node);
    const size_t bytes = type_size(node.type).bytes;
    const int64_t n = a.ne[0];
    for_each_row(task, node, [&](int64_t i1, int64_t i2, int64_t i3) {
        const auto put = [&](int64_t to, int64_t from) {
            move_run(element<char>(node, to, i1, i2, i3), bytes,
                     element<const char>(a, from, i1, i2, i3), bytes, 1, bytes);
        };
        for (int64_t i = 0; i < p.left; ++i) put(i, p.left - i);
        move_run(element<char>(node, p.left, i1, i2, i3), node.nb[0],
                 row<const char>(a, i1, i2, i3), a.nb[0], n, bytes);
        for (int64_t i = 0; i < p.right; ++i) put(p.left + n + i, n - 2 - i);
    });
}

// ---- ROLL -------------------------------------------------------------------------------------

void run_roll(const Task& task, const ggml_tensor& node) {
    const ggml_tensor& a = *node.src[0];
    const auto [shift] = params_of<tenon_roll_params>(node);
    for_each_row(task, node, [&](int64_t i1, int64_t i2, int64_t i3) {
        move_wrapped(
            node, row<char>(node, i1, i2, i3),
            row<const char>(a, wrapped(i1 - shift[1], a.ne[1]), wrapped(i2 - shift[2], a.ne[2]),
                            wrapped(i3 - shift[3], a.ne[3])),
            wrapped(-int64_t{shift[0]}, a.ne[0]));
    });
}

}  // namespace

extern constinit const Kernel kPad{supports_types, run_pad};
extern constinit const Kernel kPadReflect1d{supports_types, run_reflect};
extern constinit const Kernel kRoll{supports_types, run_roll};

}  // namespace tenon::cpu
