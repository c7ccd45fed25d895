// Products of tiles of fp32 on the f16 unit m8n8k4, each operand in two parts (unit/split.hpp).
#pragma once

#include "kernels/tile/matrix_dot.hpp"
#include "kernels/unit/split.hpp"

namespace nbx::tile {

/// sum(i, j) ← sum(i, j) + the product of a (rows, depth) and b (depth, columns) as S splits them. Rows of a are scaled
/// by what stands in them, columns of b likewise. Terms::present: all rows of a hold their terms at the same places,
/// and what b has at others is neither read nor part of its columns.
template <class S, Terms Which = Terms::all, class Block>
NBX_DEVICE void split_dot_add(Block& block, Tile<float> sum, Tile<float> a, Tile<float> b, int rows, int columns,
                              int depth) {
  constexpr bool present = Which == Terms::present;
#if defined(__CUDACC__)
  constexpr int high = unit::tile_rows<unit::M8N8K4F16>, wide = unit::tile_columns<unit::M8N8K4F16>;
  const int across = (columns + wide - 1) / wide;
  block.warps((rows + high - 1) / high * across, [=](int tile) {
    const int r = tile / across * high, c = tile % across * wide;
    unit::multiply_split_tile<S, present>(a.row(r), a.stride, b.at + c, b.stride, sum.row(r) + c, sum.stride,
                                          rows - r < high ? rows - r : high, columns - c < wide ? columns - c : wide,
                                          depth);
  });
#else
  constexpr int wide = 64;
  block.phase((columns + wide - 1) / wide, [=](std::int64_t item) {
    const int c = static_cast<int>(item) * wide;
    unit::multiply_split<S, present>({a.at, b.at + c, sum.at + c, a.stride, b.stride, sum.stride, rows,
                                      columns - c < wide ? columns - c : wide, depth});
  });
#endif
}

}  // namespace nbx::tile
