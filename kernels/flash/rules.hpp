// The rules by which flash computes: those of math, and what streaming adds.
#pragma once

#include <algorithm>

#include "kernels/flash/tiles.hpp"
#include "kernels/math/arguments.hpp"
#include "kernels/tile/load.hpp"

namespace nbx::flash {

template <class T>
using Operands = math::Operands<T>;

/// What the rows of a block keep. `shift` and `factor` are the current tile's.
struct RowState {
  tile::Tile<float> in;  // (R::row_values, rows)
  float *max, *sum, *shift, *factor;
  NBX_DEVICE explicit RowState(tile::Tile<float> rows)
      : in(rows), max(rows.row(0)), sum(rows.row(1)), shift(rows.row(2)), factor(rows.row(3)) {}
  NBX_DEVICE float* more(int which) const { return in.row(4 + which); }
};

/// What flash computes, one decision a function. A variant derives from it and hides what it does otherwise.
struct Rules : math::Rules {
  /// What a program is given, of tensors in format T.
  template <class T>
  using Arguments = Operands<T>;
  /// Operands have a scale for each head: the family attention_scaled.
  static constexpr bool scaled = false;
  template <class A>
  static void take_scales(const pack::Attention&, A& /*to*/) {}
  /// What multiplies the finished products of a head, and what its sums of values.
  template <class A>
  NBX_FUNCTION static float head_scale(const A& a, std::int64_t, std::int64_t, std::int64_t) {
    return a.scale;
  }
  template <class A>
  NBX_FUNCTION static float value_scale(const A&, std::int64_t, std::int64_t) {
    return 1.0F;
  }
  NBX_FUNCTION static float scaled_sum(float o, float /*value_scale*/) { return o; }

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
  static constexpr int row_values = 4;
  static constexpr int fold_width = 64;  // the widest tile of keys

  /// Moves m and l on by one tile of keys; s (rows, keys) turns from scores into weights.
  template <class R, class Block>
  NBX_DEVICE static void weigh(Block& block, float /*query_scale*/, const RowState& row, tile::Tile<float> s, int rows,
                               int keys) {
    block.phase(rows, [=](std::int64_t r) {
      const float* const score = s.row(static_cast<int>(r));
      const float before = row.max[r];
      const float of_tile = tile::fold<typename R::Max, fold_width>(keys, [=](int j) { return score[j]; });
      const float max = R::template running_max<typename R::Max>(before, of_tile);
      row.max[r] = max;
      row.shift[r] = R::shift(max);
      row.factor[r] = R::rescale(before, max);
    });
    struct Row {
      float* score;
      float shift;
    };
    block.phase_rows(
        rows, keys,
        [=](std::int64_t r) {
          return Row{s.row(static_cast<int>(r)), row.shift[r]};
        },
        [](const Row& at, std::int64_t, std::int64_t j) { at.score[j] = R::weight(at.score[j], at.shift); });
    block.phase(rows, [=](std::int64_t r) {
      const float* const weight = s.row(static_cast<int>(r));
      const float of_tile = tile::fold<typename R::Sum, fold_width>(keys, [=](int j) { return weight[j]; });
      row.sum[r] = R::running_sum(row.sum[r], row.factor[r], of_tile);
    });
  }
  /// Before the first tile of keys, and behind the last: where a row keeps more than max and sum.
  NBX_DEVICE static void begin(const RowState&, std::int64_t /*row*/) {}
  template <class Block>
  NBX_DEVICE static void finish(Block&, const RowState&, int /*rows*/) {}

  /// A scaled score with its bias.
  template <class R>
  NBX_FUNCTION static float with_bias(float score, float bias, float /*query_scale*/) {
    return R::biased(score, bias);
  }
  /// The weight as P·V reads it, where it narrows. −0 stays −0.
  static constexpr bool narrows = false;
  template <class T>
  NBX_FUNCTION static float narrowed(float weight) {
    return weight;
  }

  /// Host: what these rules are declared as, for `keys` keys in tiles of `width`.
  static void declare(nbx_arithmetic& out, std::int64_t keys, std::int64_t width) {
    out.pv.group_keys = static_cast<std::uint32_t>(width);
    out.scale_at = NBX_SCALE_SCORE;
    out.log2_at = NBX_EXP_NATURAL;
    out.normalise = NBX_DIVIDE_OUTPUT;
    out.rescales = std::max<std::int64_t>(tile::ceil_div(keys, width) - 1, 0);
    out.sum_depth = tile::sum_depth(std::min(keys, width)) + out.rescales;
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
