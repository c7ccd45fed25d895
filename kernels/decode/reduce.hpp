// The fold of a row's splits.
#pragma once

#include "kernels/decode/rules.hpp"

namespace nbx::decode {

/// Row r has splits(r) partials m, l at [r · stride + s] and o at [(r · stride + s) · columns]. With M the largest m,
/// l = Σ exp(m_s − M) · l_s and o = Σ exp(m_s − M) · o_s over the splits in rising order, one fma chain each from +0.
/// A split of m = −inf is no term. A NaN in any m or l makes its row NaN.
template <class T, class R>
struct Reduce {
  const float *m, *l, *o;
  std::int64_t rows, stride, columns;
  T* out;
  float* lse;  // null: not asked for
  // Row r is (r / inner, r % inner) of the outputs.
  std::int64_t inner, out_outer, out_inner, out_step, lse_outer, lse_inner;

  std::int64_t blocks() const { return rows; }
  std::size_t tile_bytes() const {
    return tile::tile_bytes<float>(1, tile::reduce_chains) + 2 * tile::tile_bytes<float>(1, static_cast<int>(stride)) +
           tile::tile_bytes<float>(1, 1);
  }

  template <class Block>
  NBX_DEVICE void operator()(Block& block) const {
    const std::int64_t row = block.index();
    const std::int64_t splits = stride, width = columns;
    const float* const split_max = m + row * splits;
    const float* const split_sum = l + row * splits;
    const float* const split_o = o + row * splits * width;
    const auto max_tile = block.template tile<float>(1, tile::reduce_chains);
    const auto share = block.template tile<float>(1, static_cast<int>(splits));
    const auto part = block.template tile<float>(1, static_cast<int>(splits));  // l of each split
    const auto sum = block.template tile<float>(1, 1);
    tile::reduce_rows<typename R::Max>(
        block, max_tile, 1, splits, [](std::int64_t) { return 0; },
        [=](int, std::int64_t, std::int64_t s) { return split_max[s]; });
    const float max = max_tile(0, 0);
    block.phase(splits, [=](std::int64_t at) {
      const int s = static_cast<int>(at);
      part(0, s) = split_sum[s];
      share(0, s) = R::share(split_max[s], part(0, s), max);
    });
    block.phase(1, [=](std::int64_t) {
      float chain = 0.0F;
      for (int s = 0; s < splits; ++s) {
        if (tile::is_term(share(0, s))) chain = tile::fma(share(0, s), part(0, s), chain);
      }
      sum(0, 0) = chain;
    });
    const bool empty = R::is_empty(max);
    const float total = sum(0, 0);
    T* const to = out + row / inner * out_outer + row % inner * out_inner;
    const std::int64_t step = out_step;
    block.phase(width, [=](std::int64_t c) {
      float chain = 0.0F;
      // Several at a time, so that their loads do not wait for each other.
      constexpr int together = 8;
      for (int first = 0; first < splits; first += together) {
        float sums[together];
        NBX_UNROLL
        for (int i = 0; i < together; ++i) {
          const int s = first + i;
          sums[i] = s < splits ? split_o[s * width + c] : 0.0F;
        }
        NBX_UNROLL
        for (int i = 0; i < together; ++i) {
          const int s = first + i;
          if (s < splits && tile::is_term(share(0, s))) chain = tile::fma(share(0, s), sums[i], chain);
        }
      }
      to[c * step] = empty ? tile::encode<T>(0.0F) : R::template output<T>(chain, total);
    });
    if (lse == nullptr) return;
    float* const at = lse + row / inner * lse_outer + row % inner * lse_inner;
    block.phase(1, [=](std::int64_t) { *at = empty ? R::Max::identity : R::lse(max, total); });
  }
};

}  // namespace nbx::decode
