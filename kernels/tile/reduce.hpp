// Reductions along rows, by a tree that depends on positions alone.
#pragma once

#include <bit>

#include "kernels/tile/block.hpp"
#include "kernels/tile/functions.hpp"

namespace nbx::tile {

/// Chain c takes the terms c, c + 128, c + 256, … of its row in rising order. The chains are then folded in halves:
/// c += c + 64 for c < 64, c += c + 32 for c < 32, … Appending terms that are the operation's identity, or that leave
/// a partial result as it is (+0 to a sum of weights), changes no bit.
inline constexpr int reduce_chains = 128;

struct Sum {
  static constexpr float identity = 0.0F;
  NBX_FUNCTION static float combine(float a, float b) { return a + b; }
};

/// NaN where any term is.
struct Max {
  static constexpr float identity = -__builtin_huge_valf();
  NBX_FUNCTION static float combine(float a, float b) { return max_nan(a, b); }
};

/// The most additions that one of n terms passes through in a row sum, additions to a chain's first +0 and of empty
/// chains left out, as they are exact.
constexpr std::int64_t sum_depth(std::int64_t n) {
  if (n < 1) return 0;
  const std::int64_t used = n < reduce_chains ? n : reduce_chains;
  return ceil_div(n, reduce_chains) - 1 +
         static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(used - 1)));
}

namespace detail {

/// One row on the CPU: the chains side by side in vectors.
template <class Operation, class Row, class Term>
float reduce_in_vectors(std::int64_t n, std::int64_t r, const Row& row, const Term& term) {
  alignas(tile_alignment) float chain[reduce_chains];
  for (float& c : chain) c = Operation::identity;
  std::int64_t first = 0;
  for (; first + reduce_chains <= n; first += reduce_chains) {
    for (int c = 0; c < reduce_chains; ++c) chain[c] = Operation::combine(chain[c], term(row, r, first + c));
  }
  for (int c = 0; c < n - first; ++c) chain[c] = Operation::combine(chain[c], term(row, r, first + c));
  for (int width = reduce_chains / 2; width > 0; width /= 2) {
    for (int c = 0; c < width; ++c) chain[c] = Operation::combine(chain[c], chain[c + width]);
  }
  return chain[0];
}

}  // namespace detail

namespace detail {

/// part[0 … Width − 1] folded in halves. By recursion, as nvcc unrolls no loop whose bound is halved.
template <class Operation, int Width>
NBX_FUNCTION float fold_halves(float* part) {
  if constexpr (Width == 1) {
    return part[0];
  } else {
    NBX_UNROLL
    for (int c = 0; c < Width / 2; ++c) part[c] = Operation::combine(part[c], part[c + Width / 2]);
    return fold_halves<Operation, Width / 2>(part);
  }
}

}  // namespace detail

/// The reduction of term(c) over c < n by one item, n ≤ Width, a power of two: places from n on hold the identity, and
/// places are folded in halves, c += c + Width/2, … A weight passes through log2(Width) additions.
template <class Operation, int Width, class Term>
NBX_FUNCTION float fold(int n, const Term& term) {
  float part[Width];
#if NBX_DEVICE_CODE
  NBX_UNROLL
  for (int c = 0; c < Width; ++c) part[c] = c < n ? term(c) : Operation::identity;
#else
  for (int c = 0; c < n; ++c) part[c] = term(c);
  for (int c = n; c < Width; ++c) part[c] = Operation::identity;
#endif
  return detail::fold_halves<Operation, Width>(part);
}

#if NBX_DEVICE_CODE
namespace detail {

/// Terms of a row that a warp reduces as fast as the block does.
inline constexpr int longest_for_a_warp = 1024;

/// A warp a row, four chains a thread: their folds need no barrier.
template <class Operation, class Block, class Prepare, class Term>
NBX_DEVICE void reduce_by_warps(Block& block, Tile<float> out, int rows, int n, const Prepare& prepare,
                                const Term& term) {
  block.warps(rows, [=](int r) {
    const auto row = prepare(std::int64_t{r});
    const int lane = static_cast<int>(threadIdx.x) % 32;
    float chain[4] = {Operation::identity, Operation::identity, Operation::identity, Operation::identity};
    for (int first = 0; first < n; first += reduce_chains) {
      NBX_UNROLL
      for (int k = 0; k < 4; ++k) {
        const int place = first + 32 * k + lane;
        if (place < n) chain[k] = Operation::combine(chain[k], term(row, std::int64_t{r}, std::int64_t{place}));
      }
    }
    float one = Operation::combine(Operation::combine(chain[0], chain[2]), Operation::combine(chain[1], chain[3]));
    NBX_UNROLL
    for (int width = 16; width > 0; width /= 2) {
      one = Operation::combine(one, __shfl_down_sync(0xFFFFFFFFU, one, static_cast<unsigned>(width)));
    }
    if (lane == 0) out(r, 0) = one;
  });
}

}  // namespace detail
#endif

/// out(r, 0) = the reduction of term(prepare(r), r, c) over c < n, for each row r. term is called once for each (r, c)
/// and may store what belongs to that place. `out` is (rows, reduce_chains); its other columns are scratch.
template <class Operation, class Block, class Prepare, class Term>
NBX_DEVICE void reduce_rows(Block& block, Tile<float> out, std::int64_t rows, std::int64_t n, const Prepare& prepare,
                            const Term& term) {
  if constexpr (Block::vectors) {
    if (block.in_order()) {
      for (std::int64_t r = 0; r < rows; ++r) {
        out(static_cast<int>(r), 0) = detail::reduce_in_vectors<Operation>(n, r, prepare(r), term);
      }
      return;
    }
  }
#if NBX_DEVICE_CODE
  if (rows >= 4 || n <= detail::longest_for_a_warp) {
    return detail::reduce_by_warps<Operation>(block, out, static_cast<int>(rows), static_cast<int>(n), prepare, term);
  }
#endif
  block.phase_rows(rows, reduce_chains, prepare, [=](const auto& row, std::int64_t r, std::int64_t c) {
    float chain = Operation::identity;
    for (std::int64_t place = c; place < n; place += reduce_chains) {
      chain = Operation::combine(chain, term(row, r, place));
    }
    out(static_cast<int>(r), static_cast<int>(c)) = chain;
  });
  for (int width = reduce_chains / 2; width > 0; width /= 2) {
    block.phase_rows(
        rows, width, [=](std::int64_t r) { return out.row(static_cast<int>(r)); },
        [=](float* row, std::int64_t, std::int64_t c) { row[c] = Operation::combine(row[c], row[c + width]); });
  }
}

}  // namespace nbx::tile
