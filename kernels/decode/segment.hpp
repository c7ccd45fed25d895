// One segment of keys against the query heads that read it: its largest score m, the sum l of its weights exp(s − m),
// and the sum o of weights times values, neither divided.
#pragma once

#include "kernels/decode/rules.hpp"

namespace nbx::decode {

/// What a segment is given and where its results go. `query(g)` is a row of Q, `key(j)` and `value(j)` are rows of K
/// and V, counted from the segment's first.
struct SegmentSizes {
  int heads, width;    // width: the most keys that a segment of this kernel has
  int keys;            // that this one has; 0: empty
  int depth, columns;  // of Q and K; of V
  std::int64_t q_step, k_step, v_step;
  float score_scale, value_scale;
  bool scales_values;
};

inline std::size_t segment_bytes(int heads, int width, int depth, int columns) {
  return tile::tile_bytes<float>(heads, tile::padded(depth, tile::score_strip)) +
         tile::tile_bytes<float>(heads, width) + 2 * tile::tile_bytes<float>(heads, tile::reduce_chains) +
         tile::tile_bytes<float>(4 * heads, columns);
}

/// Where the results of head g go: m and l, and column c of o. Strides are in elements.
struct Partials {
  float *m, *l, *o;
  std::int64_t m_step, l_step, o_step, column_step;
};

/// Narrow: the format in which Q is read. A segment without keys writes m = −inf and l = 0, and leaves o as it is
/// unless `clear`.
template <class R, class Narrow, class Block, class Query, class Key, class Value, class Bias>
NBX_DEVICE void segment_partials(Block& block, const SegmentSizes& of, const Partials& to, bool clear,
                                 const Query& query, const Key& key, const Value& value, const Bias& bias) {
  const int heads = of.heads, keys = of.keys, depth = of.depth, columns = of.columns;
  if (keys == 0) {
    block.phase(heads, [=](std::int64_t g) {
      to.m[g * to.m_step] = R::Max::identity;
      to.l[g * to.l_step] = 0.0F;
    });
    if (clear) {
      block.phase_rows(
          heads, columns, [=](std::int64_t g) { return to.o + g * to.o_step; },
          [=](float* row, std::int64_t, std::int64_t c) { row[c * to.column_step] = 0.0F; });
    }
    return;
  }
  const int filled = tile::padded(depth, tile::score_strip);
  const auto q = block.template tile<float>(heads, filled);    // (heads, depth, filled up)
  const auto s = block.template tile<float>(heads, of.width);  // (heads, keys): scores, then weights
  const auto max_tile = block.template tile<float>(heads, tile::reduce_chains);
  const auto sum_tile = block.template tile<float>(heads, tile::reduce_chains);
  const auto scratch = block.template tile<float>(4 * heads, columns);

  const std::int64_t q_step = of.q_step;
  block.phase_rows(heads, filled, query, [=](const auto* from, std::int64_t g, std::int64_t d) {
    float x = 0.0F;
    if (d < depth) x = R::template query<Narrow>(tile::decode(from[d * q_step]));
    q(static_cast<int>(g), tile::score_column(static_cast<int>(d))) = x;
  });
  tile::key_scores(block, s, q, heads, keys, depth, of.k_step, key);

  const float scale = of.score_scale;
  tile::reduce_rows<typename R::Max>(
      block, max_tile, heads, keys, [=](std::int64_t g) { return s.row(static_cast<int>(g)); },
      [=](float* row, std::int64_t, std::int64_t j) {
        const float score = bias(R::score(row[j], scale), j);
        row[j] = score;
        return score;
      });
  struct Row {
    float* score;
    float max;
  };
  tile::reduce_rows<typename R::Sum>(
      block, sum_tile, heads, keys,
      [=](std::int64_t g) {
        return Row{s.row(static_cast<int>(g)), max_tile(static_cast<int>(g), 0)};
      },
      [=](const Row& row, std::int64_t, std::int64_t j) {
        const float weight = R::weight(row.score[j], row.max);
        row.score[j] = weight;
        return weight;
      });
  block.phase(heads, [=](std::int64_t g) {
    to.m[g * to.m_step] = max_tile(static_cast<int>(g), 0);
    to.l[g * to.l_step] = sum_tile(static_cast<int>(g), 0);
  });
  const float value_scale = of.value_scale;
  const bool scales = of.scales_values;
  tile::weighted_values(block, scratch, s, heads, keys, columns, of.v_step, value, [=](int g, int c, float sum) {
    to.o[g * to.o_step + c * to.column_step] = scales ? R::value(sum, value_scale) : sum;
  });
}

/// Scores as they are.
struct NoBias {
  NBX_FUNCTION float operator()(float score, std::int64_t) const { return score; }
};

}  // namespace nbx::decode
