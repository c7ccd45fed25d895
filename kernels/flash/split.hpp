// flash.m8n8k4_split: flash on fp32 operands with both products on the f16 unit m8n8k4, each operand in two parts.
#pragma once

#include "kernels/flash/matrix.hpp"
#include "kernels/tile/split_dot.hpp"

namespace nbx::flash {

/// Q and K are scaled by the row, weights by the row and V by the column of a tile of keys: by the keys that the row
/// sees, so that nothing of hidden ones shows, and bits depend on none.
template <class S = unit::Split>
struct SplitRules : MatrixRules<unit::M8N8K4F16, float> {
  using Split = S;
  static constexpr bool narrows = false;

  /// Of P·V the second group of a tile is added to the first, and both to O: one addition more than for groups one
  /// after the other, which `rescales` counts; in the first tile O is still 0.
  static void declare(nbx_arithmetic& out, std::int64_t keys, std::int64_t width) {
    Rules::declare(out, keys, width);
    for (nbx_dot* const dot : {&out.qk, &out.pv}) {
      dot->unit = NBX_M8N8K4_SPLIT;
      dot->chains = 0;
      dot->group_keys = Split::group;
    }
  }

  template <class R, class Block>
  NBX_DEVICE static void scores(Block& block, tile::Tile<float> s, tile::Tile<float> q, tile::Tile<float> k, int rows,
                                int keys, int depth) {
    tile::fill(block, s, rows, keys, 0.0F);
    if (tile::any_non_finite(block, q, rows, depth) || tile::any_non_finite(block, k, depth, keys)) {
      R::add_non_finite_terms(block, s, q, k, rows, keys, depth);
    }
    tile::split_dot_add<typename R::Split>(block, s, q, k, rows, keys, depth);
  }

  template <class R, class Block>
  NBX_DEVICE static void accumulate(Block& block, tile::Tile<float> o, tile::Tile<float> p, tile::Tile<float> v,
                                    int rows, int columns, int keys) {
    const bool alike = !block.any(
        rows, keys, [=](std::int64_t r) { return p.row(static_cast<int>(r)); },
        [=](const float* row, std::int64_t, std::int64_t j) {
          return tile::is_term(row[j]) != tile::is_term(p(0, static_cast<int>(j)));
        });
    const int at_once = alike ? rows : 1;
    for (int r = 0; r < rows; r += at_once) {
      tile::split_dot_add<typename R::Split, R::terms>(block, {o.row(r), o.stride}, {p.row(r), p.stride}, v, at_once,
                                                       columns, keys);
    }
  }
  static constexpr tile::Terms terms = tile::Terms::present;

  /// Adds the terms that are not finite, in rising k. A score that gets any ends NaN or infinite.
  template <class Block>
  NBX_DEVICE static void add_non_finite_terms(Block& block, tile::Tile<float> s, tile::Tile<float> q,
                                              tile::Tile<float> k, int rows, int keys, int depth) {
    block.phase_rows(
        rows, keys, [](std::int64_t r) { return static_cast<int>(r); },
        [=](int r, std::int64_t, std::int64_t key) {
          const int j = static_cast<int>(key);
          for (int d = 0; d < depth; ++d) {
            const float x = q(r, d), y = k(d, j);
            if (!tile::is_finite(x) || !tile::is_finite(y)) s(r, j) = s(r, j) + x * y;
          }
        });
  }
};

/// flash.m8n8k4_split.f32 without its promises.
template <class R = SplitRules<>>
using SplitCommon = Common<float, R>;

}  // namespace nbx::flash
