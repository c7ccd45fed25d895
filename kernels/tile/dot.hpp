// Products of tiles. The unit says how they multiply and add.
#pragma once

#include "kernels/tile/block.hpp"
#include "kernels/tile/functions.hpp"

#if !defined(__CUDACC__)
#include "kernels/tile/lanes.hpp"
#endif

namespace nbx::tile {

/// simt_f32: one chain of fp32 fma per element, in rising k.
struct SimtF32 {
  NBX_FUNCTION static float multiply_add(float a, float b, float sum) { return fma(a, b, sum); }
};

/// Which terms of a chain there are. A weight of −0 says "no term": it stands for a key that is no part of the row,
/// whose value must not show, as 0 · NaN would. Where the value is finite the term may be added all the same: it is ±0
/// and changes no sum but the sign of a zero, which settle() takes away.
enum class Terms { all, present };

NBX_FUNCTION float no_term() { return -0.0F; }
NBX_FUNCTION bool is_term(float weight) { return bits_of(weight) != 0x80000000U; }

/// A finished sum, with +0 for −0.
NBX_FUNCTION float settle(float sum) { return sum + 0.0F; }

#if !defined(__CUDACC__)
namespace detail {

/// Rows r … r + Rows − 1 and 16 columns from c: the chains in registers.
template <int Rows, Terms Which>
void dot_add_group(Tile<float> sum, Tile<float> a, Tile<float> b, int r, int c, int depth) {
  Lanes low[Rows], high[Rows];
  for (int i = 0; i < Rows; ++i) {
    low[i] = Lanes::load(sum.row(r + i) + c);
    high[i] = Lanes::load(sum.row(r + i) + c + Lanes::count);
  }
  for (int k = 0; k < depth; ++k) {
    const Lanes b_low = Lanes::load(b.row(k) + c);
    const Lanes b_high = Lanes::load(b.row(k) + c + Lanes::count);
    for (int i = 0; i < Rows; ++i) {
      const float weight = a(r + i, k);
      if (Which == Terms::present && !is_term(weight)) continue;
      const Lanes all = Lanes::all(weight);
      low[i] = Lanes::fma(all, b_low, low[i]);
      high[i] = Lanes::fma(all, b_high, high[i]);
    }
  }
  for (int i = 0; i < Rows; ++i) {
    low[i].store(sum.row(r + i) + c);
    high[i].store(sum.row(r + i) + c + Lanes::count);
  }
}

}  // namespace detail
#endif

/// sum(i, j) ← the chain over k = 0 … depth − 1, rising: sum(i, j) ← a(i, k) · b(k, j) + sum(i, j) by the unit.
/// a is (rows, depth), b (depth, columns), sum (rows, columns). Calls for successive ranges of k make one chain.
template <class Unit, Terms Which = Terms::all, class Block>
NBX_DEVICE void dot_add(Block& block, Tile<float> sum, Tile<float> a, Tile<float> b, int rows, int columns, int depth) {
#if !defined(__CUDACC__)
  if constexpr (std::is_same_v<Unit, SimtF32>) {
    const int row_groups = padded(rows, row_group) / row_group;
    const int column_groups = padded(columns, column_group) / column_group;
    block.phase(row_groups * column_groups, [=](std::int64_t i) {
      const int r = static_cast<int>(i / column_groups) * row_group;
      const int c = static_cast<int>(i % column_groups) * column_group;
      switch (rows - r) {
        case 1:
          return detail::dot_add_group<1, Which>(sum, a, b, r, c, depth);
        case 2:
          return detail::dot_add_group<2, Which>(sum, a, b, r, c, depth);
        case 3:
          return detail::dot_add_group<3, Which>(sum, a, b, r, c, depth);
        default:
          return detail::dot_add_group<4, Which>(sum, a, b, r, c, depth);
      }
    });
    return;
  }
#endif
  block.phase_rows(
      rows, columns, [=](std::int64_t r) { return static_cast<int>(r); },
      [=](int r, std::int64_t, std::int64_t column) {
        const int c = static_cast<int>(column);
        float chain = sum(r, c);
        for (int k = 0; k < depth; ++k) {
          const float weight = a(r, k);
          if (Which == Terms::present && !is_term(weight)) continue;
          chain = Unit::multiply_add(weight, b(k, c), chain);
        }
        sum(r, c) = chain;
      });
}

}  // namespace nbx::tile
