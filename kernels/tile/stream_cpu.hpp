// The CPU forms of stream.hpp.
#pragma once

#include <type_traits>

#include "kernels/tile/cpu_block.hpp"
#include "kernels/tile/lanes.hpp"
#include "kernels/tile/number.hpp"
#include "kernels/tile/qualifiers.hpp"

namespace nbx::tile::detail {

/// The 128 chains of a score, side by side.
struct ScoreChains {
  static constexpr int vectors = 128 / Lanes::count;
  Lanes chain[vectors];

  /// The chains added up: neighbours within each eight, then the eights in halves.
  float sum() const {
    float eight[vectors];
    for (int i = 0; i < vectors; i += 4) Lanes::sums_of_neighbours(chain + i, eight + i);
    for (int width = vectors / 2; width > 0; width /= 2) {
      for (int i = 0; i < width; ++i) eight[i] += eight[i + width];
    }
    return eight[0];
  }
};

/// q · key over `depth` elements, both filled up with +0 to a multiple of 8. Chains that only take padding stay at +0,
/// where 0 · 0 + 0 would leave them.
inline float chained_score(const float* q, const float* key, int depth) {
  ScoreChains chains;
  for (Lanes& lanes : chains.chain) lanes = Lanes::all(0.0F);
  for (int first = 0; first < depth; first += 128) {
    const int used = (depth - first + Lanes::count - 1) / Lanes::count;
    const int count = used < ScoreChains::vectors ? used : ScoreChains::vectors;
    for (int i = 0; i < count; ++i) {
      const int d = first + i * Lanes::count;
      chains.chain[i] = Lanes::fma(Lanes::load(q + d), Lanes::load(key + d), chains.chain[i]);
    }
  }
  return chains.sum();
}

template <class Block, class Row>
void key_scores(Block& block, Tile<float> out, Tile<float> q, int heads, int keys, int depth, std::int64_t step,
                const Row& row) {
  const int filled = padded(depth, Lanes::count);
  block.phase(keys, [=](std::int64_t j) {
    alignas(tile_alignment) float key[512];
    const auto* const from = row(j);
    if (step == 1) {
      for (int d = 0; d < depth; ++d) key[d] = decode(from[d]);
    } else {
      for (int d = 0; d < depth; ++d) key[d] = decode(from[d * step]);
    }
    for (int d = depth; d < filled; ++d) key[d] = 0.0F;
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
