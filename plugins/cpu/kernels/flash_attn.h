// FLASH_ATTN_EXT, the parts: how a node is cut into pieces of work, and what one piece computes.
#pragma once

#include "plugins/cpu/dot/panels.h"
#include "plugins/cpu/kernel.h"

namespace tenon::cpu {

// Positions of K and V that are looked at together.
constexpr int64_t kKeyTile = kBandRows;

// How a node is cut. Heads that share a head of K and one of V form a group; the rows of a group
// (heads fastest, then tokens) are computed in blocks, which read K and V once. Where there are few
// blocks, the positions are split too, and the parts merged. Depends on shapes alone.
struct Attention {
    const ggml_tensor &node, &q, &k, &v;
    const ggml_tensor* mask;   // or NULL
    const ggml_tensor* sinks;  // or NULL
    tenon_flash_attn_ext_params params;
    int64_t dk, dv, n_keys;
    int64_t group;                 // heads
    int64_t rows;                  // of a group
    int64_t block_rows, n_blocks;  // rows of a block; blocks of a group
    int64_t n_groups;              // of all batches
    int64_t split, n_splits;       // positions of a split, a multiple of kKeyTile
    bool panels;                   // scores by panels instead of dot products
    bool decode_values;            // V is made f32 first

    explicit Attention(const ggml_tensor& node);

    int64_t n_pieces() const { return n_groups * n_blocks * n_splits; }
    int64_t partial_floats() const { return dv + 2; }  // a row of a split: sums, maximum, total
    size_t partials_bytes() const;
    size_t member_bytes() const;

    // Row r of a group, counted over all batches.
    struct Row {
        int64_t token, head, batch;
    };
    Row row_of(int64_t group_index, int64_t r) const {
        const int64_t groups = q.ne[2] / group;
        return {r / group, group_index % groups * group + r % group, group_index / groups};
    }
    const ggml_fp16_t* mask_row(const Row& at) const {
        return row<const ggml_fp16_t>(*mask, at.token, at.head % mask->ne[2],
                                      at.batch % mask->ne[3]);
    }
};

// One piece: a block of rows against a split of positions, in this member's scratch.
class AttentionPiece {
public:
    AttentionPiece(const Attention& attention, void* scratch);

    // Computes piece `index`; the result is in out(), most() and sum() until the next one.
    void compute(int64_t index);

    int64_t group_index() const { return group_index_; }
    int64_t first_row() const { return row0_; }
    int64_t n_rows() const { return n_rows_; }
    const float* out(int64_t r) const { return out_ + r * a_.dv; }  // sums of weight*value
    float most(int64_t r) const { return most_[r]; }                // largest score, or -inf
    float sum(int64_t r) const { return sum_[r]; }                  // of e^(score - most)

private:
    void load_queries();
    bool all_masked(int64_t key, int64_t n) const;
    void score(int64_t key, int64_t n);
    void score_by_panels(const char* keys, int64_t n);
    void weigh(int64_t r, int64_t key, int64_t n);
    void add_values(int64_t key, int64_t n);

    const Attention& a_;
    int64_t group_index_ = 0, row0_ = 0, n_rows_ = 0;
    float *queries_, *strips_, *band_, *scores_, *values_, *out_, *most_, *sum_, *slopes_;
    char* q8_rows_;
};

}  // namespace tenon::cpu
