// The CPU forms of stream.hpp.
#pragma once

#include "kernels/tile/cpu_block.hpp"
#include "kernels/tile/lanes.hpp"
#include "kernels/tile/number.hpp"

namespace nbx::tile::detail {

/// The 128 chains of a score, side by side.
struct ScoreChains {
  static constexpr int vectors = 128 / Lanes::count;
  Lanes chain[vectors];

  /// The chains added up: neighbours within each eight, then the eights in halves.
  float sum() const {
    float eight[vectors];
    for (int i = 0; i < vectors; ++i) eight[i] = chain[i].sum_of_neighbours();
    for (int width = vectors / 2; width > 0; width /= 2) {
      for (int i = 0; i < width; ++i) eight[i] += eight[i + width];
    }
    return eight[0];
  }
};

template <class Block, class Row>
void key_scores(Block& block, Tile<float> out, Tile<float> q, int heads, int keys, int depth, std::int64_t step,
                const Row& row) {
  const int filled = padded(depth, 128);
  block.phase(keys, [=](std::int64_t j) {
    alignas(tile_alignment) float key[512];
    const auto* const from = row(j);
    if (step == 1) {
      for (int d = 0; d < depth; ++d) key[d] = decode(from[d]);
    } else {
      for (int d = 0; d < depth; ++d) key[d] = decode(from[d * step]);
    }
    for (int d = depth; d < filled; ++d) key[d] = 0.0F;
    for (int g = 0; g < heads; ++g) {
      ScoreChains chains;
      for (Lanes& lanes : chains.chain) lanes = Lanes::all(0.0F);
      for (int first = 0; first < filled; first += 128) {
        for (int i = 0; i < ScoreChains::vectors; ++i) {
          const int d = first + i * Lanes::count;
          chains.chain[i] = Lanes::fma(Lanes::load(q.row(g) + d), Lanes::load(key + d), chains.chain[i]);
        }
      }
      out(g, static_cast<int>(j)) = chains.sum();
    }
  });
}

/// Chains c and c + 4 for the columns first … first + 7 of Heads heads from g on, and their sum into row 4g + c of
/// scratch.
template <int Heads, class Row>
void weigh_columns(Tile<float> scratch, Tile<float> weights, int g, int c, int keys, int first, int columns,
                   std::int64_t step, const Row& row) {
  Lanes sum[2][Heads];
  for (auto& half : sum) {
    for (Lanes& lanes : half) lanes = Lanes::all(0.0F);
  }
  for (int half = 0; half < 2; ++half) {
    for (int j = c + 4 * half; j < keys; j += 8) {
      const auto* const from = row(j) + first * step;
      float value[Lanes::count] = {};
      const int count = columns - first < Lanes::count ? columns - first : Lanes::count;
      for (int i = 0; i < count; ++i) value[i] = decode(from[i * step]);
      const Lanes values = Lanes::load(value);
      for (int h = 0; h < Heads; ++h) {
        const float weight = weights(g + h, j);
        if (is_term(weight)) sum[half][h] = Lanes::fma(Lanes::all(weight), values, sum[half][h]);
      }
    }
  }
  for (int h = 0; h < Heads; ++h) {
    Lanes::add(sum[0][h], sum[1][h]).store(scratch.row(4 * (g + h) + c) + first);
  }
}

template <class Block, class Row>
void weighted_values(Block& block, Tile<float> scratch, Tile<float> weights, int heads, int keys, int columns,
                     std::int64_t step, const Row& row) {
  const int groups = padded(columns, Lanes::count) / Lanes::count;
  block.phase(4 * groups, [=](std::int64_t i) {
    const int c = static_cast<int>(i % 4);
    const int first = static_cast<int>(i / 4) * Lanes::count;
    int g = 0;
    for (; g + 4 <= heads; g += 4) weigh_columns<4>(scratch, weights, g, c, keys, first, columns, step, row);
    for (; g < heads; ++g) weigh_columns<1>(scratch, weights, g, c, keys, first, columns, step, row);
  });
}

}  // namespace nbx::tile::detail
