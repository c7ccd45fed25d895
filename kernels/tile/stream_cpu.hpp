// The CPU forms of stream.hpp.
#pragma once

#include <type_traits>

#include "kernels/tile/cpu_block.hpp"
#include "kernels/tile/lanes.hpp"
#include "kernels/tile/number.hpp"
#include "kernels/tile/qualifiers.hpp"

namespace nbx::tile::detail {

/// The chains of a score, side by side.
struct ScoreChains {
  static constexpr int vectors = score_chains / Lanes::count;
  static_assert(vectors == 4);
  Lanes chain[vectors];

  /// The chains added up: neighbours within each four, then the fours in halves. Four 2i is the lower half of chain[i].
  float sum() const {
    float lower_upper[2 * vectors];
    Lanes::sums_of_neighbours(chain, lower_upper);
    const float* const lower = lower_upper;
    const float* const upper = lower_upper + vectors;
    return ((lower[0] + lower[2]) + (lower[1] + lower[3])) + ((upper[0] + upper[2]) + (upper[1] + upper[3]));
  }
};

/// q · key over `depth` elements, both at score_column() and filled up with +0 to a multiple of 16. Chains that only
/// take padding stay at +0, where 0 · 0 + 0 would leave them.
inline float chained_score(const float* q, const float* key, int depth) {
  ScoreChains chains;
  for (Lanes& lanes : chains.chain) lanes = Lanes::all(0.0F);
  for (int first = 0; first < depth; first += score_strip) {
    const int used = (depth - first + 15) / 16;  // vectors of each half of the strip
    const int count = used < ScoreChains::vectors ? used : ScoreChains::vectors;
    for (int half = first; half < first + score_strip; half += score_chains) {
      for (int i = 0; i < count; ++i) {
        const int d = half + i * Lanes::count;
        chains.chain[i] = Lanes::fma(Lanes::load(q + d), Lanes::load(key + d), chains.chain[i]);
      }
    }
  }
  return chains.sum();
}

template <class Block, class Row>
void key_scores(Block& block, Tile<float> out, Tile<float> q, int heads, int keys, int depth, std::int64_t step,
                const Row& row) {
  const int filled = padded(depth, 16);
  block.phase(keys, [=](std::int64_t j) {
    alignas(tile_alignment) float key[512];
    const auto* const from = row(j);
    for (int four = 0; four < filled; four += 4) {
      float* const to = key + score_column(four);
      if (step == 1 && four + 4 <= depth) {
        for (int i = 0; i < 4; ++i) to[i] = decode(from[four + i]);
      } else {
        for (int i = 0; i < 4; ++i) to[i] = four + i < depth ? decode(from[(four + i) * step]) : 0.0F;
      }
    }
    for (int g = 0; g < heads; ++g) out(g, static_cast<int>(j)) = chained_score(q.row(g), key, depth);
  });
}

/// Eight values of a row from `from` on, the first `count` of them; +0 behind.
template <class T>
NBX_FORCE_INLINE Lanes values_of(const T* from, int count, std::int64_t step) {
  float value[Lanes::count] = {};
  if (step == 1 && count == Lanes::count) {
    for (int i = 0; i < Lanes::count; ++i) value[i] = decode(from[i]);
  } else {
    for (int i = 0; i < count; ++i) value[i] = decode(from[i * step]);
  }
  return Lanes::load(value);
}

/// Chains c and c + 4 for 8 · Vectors columns from `first` on, of which `columns` are there, of Heads heads from g on,
/// and their sum into row 4g + c of scratch.
template <int Heads, int Vectors, class Row>
void weigh_columns(Tile<float> scratch, Tile<float> weights, int g, int c, int keys, int first, int columns,
                   std::int64_t step, const Row& row) {
  constexpr int width = Lanes::count;
  Lanes sum[2][Heads][Vectors];
  for (int half = 0; half < 2; ++half) {
    Lanes chain[Heads][Vectors];
    for (auto& head : chain) {
      for (Lanes& lanes : head) lanes = Lanes::all(0.0F);
    }
    for (int j = c + 4 * half; j < keys; j += 8) {
      const auto* const from = row(j) + first * step;
      Lanes values[Vectors];
      for (int i = 0; i < Vectors; ++i) {
        const int left = columns - first - i * width;
        values[i] = values_of(from + i * width * step, left < width ? left : width, step);
      }
      for (int h = 0; h < Heads; ++h) {
        const float weight = weights(g + h, j);
        if (!is_term(weight)) continue;
        for (int i = 0; i < Vectors; ++i) chain[h][i] = Lanes::fma(Lanes::all(weight), values[i], chain[h][i]);
      }
    }
    for (int h = 0; h < Heads; ++h) {
      for (int i = 0; i < Vectors; ++i) sum[half][h][i] = chain[h][i];
    }
  }
  for (int h = 0; h < Heads; ++h) {
    for (int i = 0; i < Vectors; ++i) {
      Lanes::add(sum[0][h][i], sum[1][h][i]).store(scratch.row(4 * (g + h) + c) + first + i * width);
    }
  }
}

template <class Block, class Row>
void weighted_values(Block& block, Tile<float> scratch, Tile<float> weights, int heads, int keys, int columns,
                     std::int64_t step, const Row& row) {
  // As many columns at once as registers hold, then eight at a time.
  constexpr int wide = 4;
  const int wide_groups = columns / (wide * Lanes::count), narrow_start = wide_groups * wide * Lanes::count;
  const int groups = wide_groups + padded(columns - narrow_start, Lanes::count) / Lanes::count;
  block.phase(4 * groups, [=](std::int64_t i) {
    const int c = static_cast<int>(i % 4), group = static_cast<int>(i / 4);
    int g = 0;
    const auto heads_at_once = [&](auto known) {
      constexpr int count = decltype(known)::value;
      for (; g + count <= heads; g += count) {
        if (group < wide_groups) {
          const int first = group * wide * Lanes::count;
          weigh_columns<count, wide>(scratch, weights, g, c, keys, first, columns, step, row);
        } else {
          const int first = narrow_start + (group - wide_groups) * Lanes::count;
          weigh_columns<count, 1>(scratch, weights, g, c, keys, first, columns, step, row);
        }
      }
    };
    heads_at_once(std::integral_constant<int, 2>{});
    heads_at_once(std::integral_constant<int, 1>{});
  });
}

}  // namespace nbx::tile::detail
