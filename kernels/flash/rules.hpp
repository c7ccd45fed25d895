// The rules by which flash computes: those of math, and what streaming adds.
#pragma once

#include "kernels/flash/tiles.hpp"
#include "kernels/math/arguments.hpp"
#include "kernels/tile/load.hpp"

namespace nbx::flash {

template <class T>
using Operands = math::Operands<T>;

/// What flash computes, one decision a function. A variant derives from it and hides what it does otherwise.
struct Rules : math::Rules {
  /// The KV head that a query head reads.
  template <class A>
  NBX_FUNCTION static std::int64_t kv_head(const A& a, std::int64_t head) {
    return head / a.group;
  }
  /// The score of a key that the row does not see.
  NBX_FUNCTION static float hidden(float) { return Max::identity; }

  /// The maximum so far: of the tiles before and of this one.
  template <class M>
  NBX_FUNCTION static float running_max(float before, float tile) {
    return M::combine(before, tile);
  }
  /// What weights are taken relative to. While every score so far is −inf there is nothing to weigh.
  NBX_FUNCTION static float shift(float max) { return tile::select(max == Max::identity, 0.0F, max); }
  /// What l and O of an older maximum are multiplied by. Nothing was summed while the maximum was −inf.
  NBX_FUNCTION static float rescale(float old_max, float new_max) {
    return tile::select(old_max == Max::identity, 0.0F, tile::exp(old_max - new_max));
  }
  NBX_FUNCTION static float running_sum(float before, float factor, float tile) {
    return tile::fma(before, factor, tile);
  }
  /// The weight as P·V reads it, where it narrows. −0 stays −0.
  static constexpr bool narrows = false;
  template <class T>
  NBX_FUNCTION static float narrowed(float weight) {
    return weight;
  }

  /// Host: keys of a tile, and the scale, where the head dim is padded by `extra` columns of padding().
  static int key_width(const pack::Attention& a) { return flash::key_width(a.D); }
  static float scale(const pack::Attention& a, int /*extra*/) { return a.scale; }
  NBX_FUNCTION static float padding() { return 0.0F; }
  /// Where the scale is applied to q and not to scores: q (rows, dims) as the product reads it.
  template <class Block>
  NBX_DEVICE static void prepare_query(Block&, tile::Tile<float>, int, int, float) {}

  /// s ← Q·Kᵀ: s (rows, keys), q (rows, depth), k (depth, keys).
  template <class R, class Block>
  NBX_DEVICE static void scores(Block& block, tile::Tile<float> s, tile::Tile<float> q, tile::Tile<float> k, int rows,
                                int keys, int depth) {
    tile::fill(block, s, rows, keys, 0.0F);
    tile::dot_add<typename R::Unit>(block, s, q, k, rows, keys, depth);
  }
  /// o ← o · factor + P·V: o (rows, columns), p (rows, keys), v (keys, columns).
  template <class R, class Block>
  NBX_DEVICE static void values(Block& block, tile::Tile<float> o, const float* factor, tile::Tile<float> p,
                                tile::Tile<float> v, int rows, int columns, int keys) {
    // Where V is finite, a term that is absent changes at most the sign of a zero.
    if (tile::any_non_finite(block, v, keys, columns)) {
      tile::dot_onto<typename R::Unit, tile::Terms::present>(block, o, factor, p, v, rows, columns, keys);
    } else {
      tile::dot_onto<typename R::Unit>(block, o, factor, p, v, rows, columns, keys);
    }
  }

  /// An element of O from its unnormalised sum. A row without a finite score, and none NaN or +inf, is +0.
  template <class T, class A>
  NBX_FUNCTION static T normalised(const A&, float o, float max, float sum) {
    return tile::encode<T>(tile::settle(tile::select(max == Max::identity, 0.0F, tile::divide(o, sum))));
  }
};

/// The described system's: whenever a mask is given, every NaN and infinity of O becomes 0.
struct PublishedRules : Rules {
  template <class T, class A>
  NBX_FUNCTION static T normalised(const A& a, float o, float max, float sum) {
    const T value = Rules::normalised<T>(a, o, max, sum);
    return a.bias != nullptr && !tile::is_finite(tile::decode(value)) ? tile::encode<T>(0.0F) : value;
  }
};

}  // namespace nbx::flash
