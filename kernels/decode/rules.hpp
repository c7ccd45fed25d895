// By what rules decode, paged decode and rows-first attention compute: segments of keys on their own, then their fold.
#pragma once

#include "kernels/tile/functions.hpp"
#include "kernels/tile/number.hpp"
#include "kernels/tile/reduce.hpp"
#include "kernels/tile/stream.hpp"

namespace nbx::decode {

/// One decision a function. A variant, and a control, derives from it and hides what it does otherwise.
struct Rules {
  using Max = tile::Max;
  using Sum = tile::Sum;

  /// The query head that is number `member` in the group of a KV head.
  NBX_FUNCTION static std::int64_t head(std::int64_t kv_head, std::int64_t member, std::int64_t group) {
    return kv_head * group + member;
  }
  /// Keys of the segment from `first` on, `width` wide, of a row that sees `visible` keys.
  NBX_FUNCTION static std::int64_t keys(std::int64_t visible, std::int64_t first, std::int64_t width) {
    const std::int64_t left = visible - first;
    return left < 0 ? 0 : (left < width ? left : width);
  }

  /// An element of Q as it is computed with: in the format of the caches.
  template <class Cache>
  NBX_FUNCTION static float query(float x) {
    return tile::narrow<Cache>(x);
  }
  NBX_FUNCTION static float score(float dot, float scale) { return dot * scale; }
  /// A bias of −inf is selected, whatever the score.
  NBX_FUNCTION static float biased(float score, float bias) {
    return tile::select(bias == Max::identity, Max::identity, score + bias);
  }
  /// The weight of a key within its segment, whose largest score is `max`.
  NBX_FUNCTION static float weight(float score, float max) {
    return tile::select(score == Max::identity, tile::no_term(), tile::exp(score - max));
  }
  /// What the sum over a segment is multiplied by before it is stored: an fp8 scale of the values.
  NBX_FUNCTION static float value(float sum, float scale) { return sum * scale; }

  /// Whether no split holds a key that counts.
  NBX_FUNCTION static bool is_empty(float max) { return max == Max::identity; }
  /// The share of a split in its row. An empty one is no term: what its sums hold does not show.
  NBX_FUNCTION static float share(float split_max, float, float max) {
    return tile::select(split_max == Max::identity, tile::no_term(), tile::exp(split_max - max));
  }
  NBX_FUNCTION static float lse(float max, float sum) { return max + tile::log(sum); }
  template <class T>
  NBX_FUNCTION static T output(float sum, float l) {
    return tile::encode<T>(tile::settle(tile::divide(sum, l)));
  }
};

}  // namespace nbx::decode
