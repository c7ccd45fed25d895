// Products of tiles on a matrix unit: the instruction on the device, its exact model on the CPU.
#pragma once

#include "kernels/tile/block.hpp"
#include "kernels/unit/instruction.hpp"

#if !defined(__CUDACC__)
#include "kernels/unit/product.hpp"
#endif

namespace nbx::tile {

#if !defined(__CUDACC__)
namespace detail {

template <class Unit>
void on_unit(const unit::Matrices& matrices) {
  if constexpr (requires { Unit::format; }) {
    unit::multiply(matrices, Unit::known(unit::imitated()).group, Unit{});
  } else {
    unit::multiply(matrices, Unit{});
  }
}

}  // namespace detail
#endif

/// sum(i, j) ← the unit's chain over k = 0 … depth − 1 of a(i, k) · b(k, j), from sum(i, j): one instruction for each
/// Unit::k terms, in rising k, the last filled up with zeros. a is (rows, depth), b (depth, columns), sum (rows,
/// columns); operands are floats that the unit's format holds exactly. Where depth is a multiple of Unit::k, calls for
/// successive ranges of k make one chain. `from_zero`: the chain starts from zero, and its result is added to sum(i, j)
/// in fp32.
template <class Unit, bool from_zero = false, class Block>
NBX_DEVICE void matrix_dot_add(Block& block, Tile<float> sum, Tile<float> a, Tile<float> b, int rows, int columns,
                               int depth) {
#if defined(__CUDACC__)
  constexpr int high = unit::tile_rows<Unit>, wide = unit::tile_columns<Unit>;
  const int across = (columns + wide - 1) / wide;
  const int tiles = (rows + high - 1) / high * across;
  block.warps(tiles, [=](int tile) {
    const int r = tile / across * high, c = tile % across * wide;
    unit::multiply_tile<from_zero>(a.row(r), a.stride, b.at + c, b.stride, sum.row(r) + c, sum.stride,
                                   rows - r < high ? rows - r : high, columns - c < wide ? columns - c : wide, depth,
                                   Unit{});
  });
#else
  constexpr int wide = 64;
  block.phase((columns + wide - 1) / wide, [=](std::int64_t item) {
    const int c = static_cast<int>(item) * wide;
    const int width = columns - c < wide ? columns - c : wide;
    if constexpr (from_zero) {
      constexpr int high = 64;
      for (int first = 0; first < rows; first += high) {
        const int height = rows - first < high ? rows - first : high;
        float part[high * wide] = {};
        detail::on_unit<Unit>({a.row(first), b.at + c, part, a.stride, b.stride, wide, height, width, depth});
        for (int r = 0; r < height; ++r) {
          for (int j = 0; j < width; ++j) sum(first + r, c + j) = sum(first + r, c + j) + part[r * wide + j];
        }
      }
    } else {
      detail::on_unit<Unit>({a.at, b.at + c, sum.at + c, a.stride, b.stride, sum.stride, rows, width, depth});
    }
  });
#endif
}

}  // namespace nbx::tile
