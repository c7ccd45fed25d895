// Products of tiles. The unit says how they multiply and add.
#pragma once

#include <type_traits>

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

/// Of `Rows` rows and 16 columns the chains, in registers.
template <int Rows>
struct Chains {
  Lanes low[Rows], high[Rows];

  void load(Tile<float> from, int r, int c) {
    for (int i = 0; i < Rows; ++i) {
      low[i] = Lanes::load(from.row(r + i) + c);
      high[i] = Lanes::load(from.row(r + i) + c + Lanes::count);
    }
  }
  void clear() {
    for (int i = 0; i < Rows; ++i) low[i] = high[i] = Lanes::all(0.0F);
  }
  template <Terms Which>
  void add(Tile<float> a, Tile<float> b, int r, int c, int depth) {
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
  }
  void store(Tile<float> to, int r, int c) const {
    for (int i = 0; i < Rows; ++i) {
      low[i].store(to.row(r + i) + c);
      high[i].store(to.row(r + i) + c + Lanes::count);
    }
  }
};

/// group(std::integral_constant<int, rows>, r, c) for each group of up to 4 rows from r and 16 columns from c.
template <class Block, class Group>
void for_groups(Block& block, int rows, int columns, const Group& group) {
  const int row_groups = padded(rows, row_group) / row_group;
  const int column_groups = padded(columns, column_group) / column_group;
  block.phase(row_groups * column_groups, [=, &group](std::int64_t i) {
    const int r = static_cast<int>(i / column_groups) * row_group;
    const int c = static_cast<int>(i % column_groups) * column_group;
    switch (rows - r) {
      case 1:
        return group(std::integral_constant<int, 1>{}, r, c);
      case 2:
        return group(std::integral_constant<int, 2>{}, r, c);
      case 3:
        return group(std::integral_constant<int, 3>{}, r, c);
      default:
        return group(std::integral_constant<int, row_group>{}, r, c);
    }
  });
}

}  // namespace detail
#endif

/// sum(i, j) ← the chain over k = 0 … depth − 1, rising: sum(i, j) ← a(i, k) · b(k, j) + sum(i, j) by the unit.
/// a is (rows, depth), b (depth, columns), sum (rows, columns). Calls for successive ranges of k make one chain.
template <class Unit, Terms Which = Terms::all, class Block>
NBX_DEVICE void dot_add(Block& block, Tile<float> sum, Tile<float> a, Tile<float> b, int rows, int columns, int depth) {
#if !defined(__CUDACC__)
  if constexpr (std::is_same_v<Unit, SimtF32>) {
    detail::for_groups(block, rows, columns, [=](auto count, int r, int c) {
      detail::Chains<decltype(count)::value> chains;
      chains.load(sum, r, c);
      chains.template add<Which>(a, b, r, c, depth);
      chains.store(sum, r, c);
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

/// sum(i, j) ← sum(i, j) · factor[i] + the chain over k = 0 … depth − 1 from +0, rising: a tile of keys' part added, in
/// one rounding, to what was summed under another maximum.
template <class Unit, Terms Which = Terms::all, class Block>
NBX_DEVICE void dot_onto(Block& block, Tile<float> sum, const float* factor, Tile<float> a, Tile<float> b, int rows,
                         int columns, int depth) {
#if !defined(__CUDACC__)
  if constexpr (std::is_same_v<Unit, SimtF32>) {
    detail::for_groups(block, rows, columns, [=](auto count, int r, int c) {
      detail::Chains<decltype(count)::value> chains, before;
      chains.clear();
      chains.template add<Which>(a, b, r, c, depth);
      before.load(sum, r, c);
      for (int i = 0; i < count; ++i) {
        const Lanes by = Lanes::all(factor[r + i]);
        chains.low[i] = Lanes::fma(before.low[i], by, chains.low[i]);
        chains.high[i] = Lanes::fma(before.high[i], by, chains.high[i]);
      }
      chains.store(sum, r, c);
    });
    return;
  }
#endif
  block.phase_rows(
      rows, columns, [=](std::int64_t r) { return static_cast<int>(r); },
      [=](int r, std::int64_t, std::int64_t column) {
        const int c = static_cast<int>(column);
        float chain = 0.0F;
        for (int k = 0; k < depth; ++k) {
          const float weight = a(r, k);
          if (Which == Terms::present && !is_term(weight)) continue;
          chain = Unit::multiply_add(weight, b(k, c), chain);
        }
        sum(r, c) = fma(sum(r, c), factor[r], chain);
      });
}

}  // namespace nbx::tile
