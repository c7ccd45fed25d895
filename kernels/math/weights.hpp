// The second stage of math: the softmax of each row of scores, in fp32, narrowed to V's format.
#pragma once

#include "kernels/math/arguments.hpp"

namespace nbx::math {

/// A block is one row of (B, H, rows). Scores turn into weights in place before they are divided by their sum.
template <class T, class R>
struct WeightStage {
  Arguments<T> a;

  std::int64_t blocks() const { return a.B * a.H * a.rows; }
  std::size_t tile_bytes() const { return 2 * tile::tile_bytes<float>(1, tile::reduce_chains); }

  template <class Block>
  NBX_DEVICE void operator()(Block& block) const {
    const std::int64_t row = block.index() % a.rows;
    const std::int64_t head = block.index() / a.rows % a.H;
    const std::int64_t b = block.index() / a.rows / a.H;
    const std::int64_t query = a.first + row;
    const std::int64_t keys = R::template keys<Arguments<T>, R>(a, query);
    float* const scores = a.scores + block.index() * a.Tk;
    T* const weights = a.weights + block.index() * a.Tk;
    const auto whole = [](std::int64_t) { return 0; };

    const auto max_tile = block.template tile<float>(1, tile::reduce_chains);
    const auto sum_tile = block.template tile<float>(1, tile::reduce_chains);
    tile::reduce_rows<typename R::Max>(block, max_tile, 1, keys, whole,
                                       [=](int, std::int64_t, std::int64_t j) { return scores[j]; });
    const float max = max_tile(0, 0);
    float sum = 0;
    if (R::is_empty(max)) {
      block.phase(keys, [=](std::int64_t j) { weights[j] = tile::encode<T>(tile::no_term()); });
    } else {
      tile::reduce_rows<typename R::Sum>(block, sum_tile, 1, keys, whole, [=](int, std::int64_t, std::int64_t j) {
        const float weight = R::weight(scores[j], max);
        scores[j] = weight;
        return weight;
      });
      sum = sum_tile(0, 0);
      block.phase(keys, [=](std::int64_t j) { weights[j] = R::template normalised<T>(scores[j], sum); });
    }
    if (a.lse == nullptr) return;
    float* const lse = a.lse + b * a.lse_at.stride[0] + head * a.lse_at.stride[1] + query * a.lse_at.stride[2];
    block.phase(1, [=](std::int64_t) { *lse = R::is_empty(max) ? R::Max::identity : R::lse(max, sum); });
  }
};

}  // namespace nbx::math
