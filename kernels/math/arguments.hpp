// What the stages of math are given, and the rules by which they compute.
#pragma once

#include "kernels/pack/attention.hpp"
#include "kernels/pack/describe.hpp"
#include "kernels/tile/dot.hpp"
#include "kernels/tile/number.hpp"
#include "kernels/tile/reduce.hpp"

namespace nbx::math {

/// One problem's tensors: q, k and v in format T, o in format O. Strides are in elements; an axis of size 1, or that is
/// broadcast, has stride 0.
template <class T, class O = T>
struct Operands {
  std::int64_t B, H, Hk, Tq, Tk, D, Dv, group;
  pack::Causal causal;
  float scale;
  const T *q, *k, *v;
  O* o;
  float* lse;        // null: not asked for
  const void* bias;  // null: none
  bool bias_in_f32;
  pack::Layout<4> q_at, k_at, v_at, o_at, bias_at;
  pack::Layout<3> lse_at;
};

/// One problem, and of its query rows the chunk [first, first + rows) that is computed now.
template <class T>
struct Arguments : Operands<T> {
  std::int64_t first, rows;
  float* scores;  // (B, H, rows, Tk)
  T* weights;     // (B, H, rows, Tk)
};

/// Element (b, h, i, 0) of a tensor.
NBX_FUNCTION std::int64_t offset(const pack::Layout<4>& at, std::int64_t b, std::int64_t h, std::int64_t i) {
  return b * at.stride[0] + h * at.stride[1] + i * at.stride[2];
}

/// What math computes, one decision a function. A variant derives from it and hides what it does otherwise.
struct Rules {
  using Unit = tile::SimtF32;  // of both products
  using Max = tile::Max;
  using Sum = tile::Sum;

  /// The query head that is number `member` in the group of a KV head.
  template <class A>
  NBX_FUNCTION static std::int64_t head(const A& a, std::int64_t kv_head, std::int64_t member) {
    return kv_head * a.group + member;
  }

  /// Query i sees keys j < visible(i); causality alone.
  template <class A>
  NBX_FUNCTION static std::int64_t visible(const A& a, std::int64_t i) {
    if (a.causal == pack::Causal::none) return a.Tk;
    const std::int64_t end = i + 1 + (a.causal == pack::Causal::bottom_right ? a.Tk - a.Tq : 0);
    return end < 0 ? 0 : (end < a.Tk ? end : a.Tk);
  }

  /// The keys of row i are j < keys(i): what lies beyond is no part of the row and is never read into it. Rises with i.
  template <class A, class R>
  NBX_FUNCTION static std::int64_t keys(const A& a, std::int64_t i) {
    return R::visible(a, i);
  }

  NBX_FUNCTION static float score(float dot, float scale) { return dot * scale; }
  /// A bias of −inf is selected, whatever the score.
  NBX_FUNCTION static float biased(float score, float bias) {
    return tile::select(bias == Max::identity, Max::identity, score + bias);
  }
  /// A score beyond visible(i). No row reads it.
  NBX_FUNCTION static float hidden(float score) { return score; }

  /// No finite score, and none NaN or +inf.
  NBX_FUNCTION static bool is_empty(float max) { return max == Max::identity; }
  NBX_FUNCTION static float weight(float score, float max) {
    return tile::select(score == Max::identity, tile::no_term(), tile::exp(score - max));
  }
  /// The weight as P·V reads it. −0 stays −0.
  template <class T>
  NBX_FUNCTION static T normalised(float weight, float sum) {
    return tile::encode<T>(tile::divide(weight, sum));
  }
  NBX_FUNCTION static float lse(float max, float sum) { return max + tile::log(sum); }

  template <class T>
  NBX_FUNCTION static T output(float sum) {
    return tile::encode<T>(tile::settle(sum));
  }

  /// Host: how a tensor's strides are read.
  template <int N>
  static pack::Layout<N> layout(const pack::Tensor& tensor) {
    return pack::layout<N>(tensor);
  }
  /// Host: the chunk after query row `first`, at most `height` rows.
  static std::int64_t chunk_rows(std::int64_t first, std::int64_t height, std::int64_t Tq) {
    return Tq - first < height ? Tq - first : height;
  }

  static constexpr nbx_masked_value masked_value = NBX_MASKED_INERT;
  static constexpr bool gives_lse = true;
};

/// The described system's: masks are added, and every NaN of the weights is scrubbed to 0.
struct PublishedRules : Rules {
  template <class A, class R>
  NBX_FUNCTION static std::int64_t keys(const A& a, std::int64_t) {
    return a.Tk;
  }
  NBX_FUNCTION static float biased(float score, float bias) { return score + bias; }
  NBX_FUNCTION static float hidden(float score) { return score + Max::identity; }
  NBX_FUNCTION static bool is_empty(float) { return false; }
  NBX_FUNCTION static float weight(float score, float max) { return tile::exp(score - max); }
  template <class T>
  NBX_FUNCTION static T normalised(float weight, float sum) {
    const float share = tile::divide(weight, sum);
    return tile::encode<T>(tile::select(tile::is_nan(share), 0.0F, share));
  }

  static constexpr nbx_masked_value masked_value = NBX_MASKED_PROPAGATES;
  static constexpr bool gives_lse = false;
};

/// Rows of one product: the query rows of all heads of one KV head's group, so that K and V are read once for all.
template <class T, class R>
struct RowGroup {
  const Arguments<T>& a;
  std::int64_t b, kv_head, first;  // first: of a.group · a.rows

  struct Place {
    std::int64_t head, query, score;  // score: the row of (B, H, rows)
  };
  NBX_FUNCTION Place place(std::int64_t r) const {
    const std::int64_t head = R::head(a, kv_head, (first + r) / a.rows);
    const std::int64_t row = (first + r) % a.rows;
    return {head, a.first + row, (b * a.H + head) * a.rows + row};
  }

  /// The most keys that one of `count` rows has.
  NBX_FUNCTION std::int64_t keys(int count) const {
    const std::int64_t last = first + count - 1;
    // A tile that runs into the next head holds its head's last query.
    const std::int64_t row = first / a.rows == last / a.rows ? last % a.rows : a.rows - 1;
    return R::template keys<Arguments<T>, R>(a, a.first + row);
  }
};

}  // namespace nbx::math
