// Keys and values that stream through registers: each is read once for all query rows of a block, and kept in no tile.
//
// Both operations take rows of memory by a function row(j), elements `step` apart, and state an order that a few
// threads keep in their registers: eight hold a row of K, sixteen one of V, eight elements each.
#pragma once

#include "kernels/tile/block.hpp"
#include "kernels/tile/dot.hpp"
#include "kernels/tile/number.hpp"

namespace nbx::tile {

/// Rows of q as key_scores reads them: filled up with +0 to a multiple of this.
inline constexpr int score_strip = 64;
/// The chains of a score.
inline constexpr int score_chains = 32;
/// The column of a tile of q where element d lies: of each strip of 64 first the lower halves of all eights, then the
/// upper halves. A chain's elements are then 32 columns apart, and threads that hold an eight each read neighbours.
NBX_FUNCTION int score_column(int d) {
  return d / score_strip * score_strip + d % 8 / 4 * score_chains + d % score_strip / 8 * 4 + d % 4;
}

/// The chains of a sum over keys.
inline constexpr int value_chains = 8;
/// The longest row.
inline constexpr int longest_row = 512;

}  // namespace nbx::tile

#if defined(__CUDACC__)
#include "kernels/tile/stream_cuda.hpp"
#else
#include "kernels/tile/stream_cpu.hpp"
#endif

namespace nbx::tile {

/// out(g, j) = q_g · key_j for g < heads, j < keys. q is (heads, padded(depth, score_strip)), its elements at
/// score_column(), +0 behind `depth`, and a key is taken as if filled up likewise. 32 chains of fp32 fma from +0: chain
/// 4i + n takes the elements d of d / 8 % 8 = i and d % 4 = n in rising order. Chains are then added: neighbours (0 and
/// 1, 2 and 3) within each four, twice, and the eight sums in halves (i += i + 4, i += i + 2, …).
template <class Block, class Row>
NBX_DEVICE void key_scores(Block& block, Tile<float> out, Tile<float> q, int heads, int keys, int depth,
                           std::int64_t step, const Row& row) {
  detail::key_scores(block, out, q, heads, keys, depth, step, row);
  block.barrier();
}

/// store(g, c, Σ_j weights(g, j) · value_j[c]) for g < heads, c < columns. Eight chains of fp32 fma from +0: chain c
/// takes the keys c, c + 8, … in rising order, but no weight of −0, see no_term(). Chains are then added in halves
/// (c += c + 4, …). `scratch` is (4 · heads, columns).
template <class Block, class Row, class Store>
NBX_DEVICE void weighted_values(Block& block, Tile<float> scratch, Tile<float> weights, int heads, int keys,
                                int columns, std::int64_t step, const Row& row, const Store& store) {
  detail::weighted_values(block, scratch, weights, heads, keys, columns, step, row);
  block.barrier();
  block.phase_rows(
      heads, columns, [=](std::int64_t g) { return static_cast<int>(g); },
      [=](int g, std::int64_t, std::int64_t column) {
        const int c = static_cast<int>(column);
        const float low = scratch(4 * g, c) + scratch(4 * g + 2, c);
        const float high = scratch(4 * g + 1, c) + scratch(4 * g + 3, c);
        store(g, c, low + high);
      });
}

}  // namespace nbx::tile
