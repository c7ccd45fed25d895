// Between strided memory and tiles. Values are decoded exactly on the way in.
#pragma once

#include "kernels/tile/block.hpp"
#include "kernels/tile/number.hpp"

namespace nbx::tile {

/// Element c of a row lies at c · step; Unit is step 1, known to the compiler.
struct UnitStep {
  NBX_FUNCTION std::int64_t operator()(std::int64_t c) const { return c; }
};
struct AnyStep {
  std::int64_t step;
  NBX_FUNCTION std::int64_t operator()(std::int64_t c) const { return c * step; }
};

/// to(r, c) = row(r)[c · step] for r < rows, c < columns.
template <class Block, class Row>
NBX_DEVICE void load(Block& block, Tile<float> to, int rows, int columns, std::int64_t step, const Row& row) {
  const auto read = [&](auto at) {
    block.phase_rows(rows, columns, row, [=](const auto* from, std::int64_t r, std::int64_t c) {
      to.row(static_cast<int>(r))[c] = decode(from[at(c)]);
    });
  };
  if (step == 1) {
    read(UnitStep{});
  } else {
    read(AnyStep{step});
  }
}

/// to(c, r) = row(r)[c · step]: the transpose.
template <class Block, class Row>
NBX_DEVICE void load_transposed(Block& block, Tile<float> to, int rows, int columns, std::int64_t step,
                                const Row& row) {
  if constexpr (Block::vectors) {
    if (block.in_order() && step == 1) {
      for (int r = 0; r < rows; ++r) {
        const auto* const from = row(r);
        for (int first = 0; first < columns; first += column_group) {
          float line[column_group];  // decoded side by side, then scattered
          const int count = columns - first < column_group ? columns - first : column_group;
          for (int c = 0; c < count; ++c) line[c] = decode(from[first + c]);
          for (int c = 0; c < count; ++c) to(first + c, r) = line[c];
        }
      }
      return;
    }
  }
  block.phase_rows(rows, columns, row, [=](const auto* from, std::int64_t r, std::int64_t c) {
    to.row(static_cast<int>(c))[r] = decode(from[c * step]);
  });
}

/// to(r, c) = value for r < rows, c < columns.
template <class Block>
NBX_DEVICE void fill(Block& block, Tile<float> to, int rows, int columns, float value) {
  block.phase_rows(
      rows, columns, [=](std::int64_t r) { return to.row(static_cast<int>(r)); },
      [=](float* row, std::int64_t, std::int64_t c) { row[c] = value; });
}

/// Whether any of the (rows, columns) is NaN or infinite.
template <class Block>
NBX_DEVICE bool any_non_finite(Block& block, Tile<float> in, int rows, int columns) {
  return block.any(
      rows, columns, [=](std::int64_t r) { return in.row(static_cast<int>(r)); },
      [](const float* row, std::int64_t, std::int64_t c) { return !is_finite(row[c]); });
}

}  // namespace nbx::tile
