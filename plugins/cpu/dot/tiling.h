// Cuts a tile into register tiles of R rows and C columns, the last ones narrower.
#pragma once

#include "plugins/cpu/dot/dot.h"
#include "plugins/cpu/simd/simd.h"

namespace tenon::cpu::inline TENON_CPU_LEVEL {

// Asks for weights before they are read. Rows are read side by side, each too short for the
// processor to learn where reading goes on: without this, tiles of few columns wait for memory most
// of the time. What follows the end of a row is the row one register tile of R rows below. The
// distance was measured: bytes of a row that pass while memory answers, and what the first-level
// cache can keep of R rows.
template <int R, ptrdiff_t kDistance = 4096>
class Prefetch {
public:
    // Of rows of `row_bytes`; later columns than the first find the weights in the cache.
    Prefetch(const Tile& tile, int64_t col, size_t row_bytes)
        : active_(col == 0),
          row_bytes_(static_cast<ptrdiff_t>(row_bytes)),
          to_next_(static_cast<ptrdiff_t>(R * tile.row_stride) - row_bytes_) {}

    // `n` bytes, as far from `p` as it takes, where p is `at` bytes into its row.
    [[gnu::always_inline]] void operator()(const void* p, int64_t at, size_t n = 1) const {
        if (!active_) return;
        const char* ahead = static_cast<const char*>(p) + kDistance;
        if (at + kDistance >= row_bytes_) ahead += to_next_;
        for (size_t i = 0; i < n; i += 64) simd::prefetch(ahead + i);
    }

private:
    bool active_;
    ptrdiff_t row_bytes_, to_next_;
};

// Small::run<R, C>(tile, row, col) computes rows [row, row+R) of columns [col, col+C). Narrower
// widths than C are made of 4, 2 and 1 columns.
template <class Small, int R>
void tile_columns(const Tile& tile, int64_t row) {
    constexpr int C = Small::kCols;
    int64_t col = 0;
    for (; col + C <= tile.n_cols; col += C) Small::template run<R, C>(tile, row, col);
    if constexpr (C > 4) {
        for (; col + 4 <= tile.n_cols; col += 4) Small::template run<R, 4>(tile, row, col);
    }
    if constexpr (C > 2) {
        for (; col + 2 <= tile.n_cols; col += 2) Small::template run<R, 2>(tile, row, col);
    }
    for (; col < tile.n_cols; ++col) Small::template run<R, 1>(tile, row, col);
}

template <class Small>
void tile_all(const Tile& tile) {
    constexpr int R = Small::kRows;
    int64_t row = 0;
    for (; row + R <= tile.n_rows; row += R) tile_columns<Small, R>(tile, row);
    for (; row < tile.n_rows; ++row) tile_columns<Small, 1>(tile, row);
}

}  // namespace tenon::cpu::inline TENON_CPU_LEVEL
