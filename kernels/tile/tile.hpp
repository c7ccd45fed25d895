// A tile: a small dense matrix in a block's own memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/tile/qualifiers.hpp"

namespace nbx::tile {

/// (rows, columns), row-major. Rows are padded so that whole vectors and row groups may be computed; the padding has no
/// meaning.
template <class T>
struct Tile {
  T* at;
  int stride;  // elements between rows

  NBX_FUNCTION T& operator()(int row, int column) const {
    return at[static_cast<std::ptrdiff_t>(row) * stride + column];
  }
  NBX_FUNCTION T* row(int r) const { return at + static_cast<std::ptrdiff_t>(r) * stride; }
};

inline constexpr int row_group = 4;      // rows are padded to a multiple of it
inline constexpr int column_group = 16;  // columns likewise
inline constexpr std::size_t tile_alignment = 64;

NBX_FUNCTION constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
NBX_FUNCTION constexpr int padded(int n, int group) { return (n + group - 1) / group * group; }

/// Bytes that Block::tile<T>(rows, columns) takes.
template <class T>
NBX_FUNCTION constexpr std::size_t tile_bytes(int rows, int columns) {
  const std::size_t elements =
      static_cast<std::size_t>(padded(rows, row_group)) * static_cast<std::size_t>(padded(columns, column_group));
  return (elements * sizeof(T) + tile_alignment - 1) / tile_alignment * tile_alignment;
}

/// What a device gives to a block of one compiled program.
struct BlockLimits {
  std::uint64_t static_bytes = 0;  // of shared memory, that the compiled program takes beside its tiles
  std::uint64_t most_bytes = 0;    // of shared memory, that a block may have in all
  bool bf16_is_native = true;
};

}  // namespace nbx::tile
