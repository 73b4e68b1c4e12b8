// Cuts a tile into register tiles of R rows and C columns, the last ones narrower.
#pragma once

#include "plugins/cpu/dot/dot.h"

namespace tenon::cpu {

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

}  // namespace tenon::cpu
