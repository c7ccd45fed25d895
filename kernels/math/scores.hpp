// The first stage of math: scores = Q·Kᵀ, scaled, plus bias.
#pragma once

#include "kernels/math/arguments.hpp"
#include "kernels/tile/load.hpp"

namespace nbx::math {

inline constexpr int key_tile = 64;
inline constexpr int depth_tile = 64;

/// A block is (batch, KV head, tile of `height` rows, tile of 64 keys). The head dim goes through the tiles in pieces
/// of 64, which make one chain.
template <class T, class R>
struct ScoreStage {
  Arguments<T> a;
  int height;

  std::int64_t row_tiles() const { return tile::ceil_div(a.group * a.rows, height); }
  std::int64_t blocks() const { return a.B * a.Hk * row_tiles() * tile::ceil_div(a.Tk, key_tile); }
  std::size_t tile_bytes() const {
    return tile::tile_bytes<float>(height, depth_tile) + tile::tile_bytes<float>(depth_tile, key_tile) +
           tile::tile_bytes<float>(height, key_tile);
  }

  template <class Block>
  NBX_DEVICE void operator()(Block& block) const {
    const auto& arguments = a;
    const std::int64_t key_tiles = tile::ceil_div(a.Tk, key_tile);
    const std::int64_t first_key = block.index() % key_tiles * key_tile;
    const std::int64_t tiles = tile::ceil_div(a.group * a.rows, height);
    const std::int64_t of_rows = block.index() / key_tiles;
    const RowGroup<T, R> group{arguments, of_rows / tiles / a.Hk, of_rows / tiles % a.Hk, of_rows % tiles * height};

    const std::int64_t rows_left = a.group * a.rows - group.first;
    const int rows = rows_left < height ? static_cast<int>(rows_left) : height;
    if (first_key >= group.keys(rows)) return;  // no row of the tile has one of these keys
    const int keys = a.Tk - first_key < key_tile ? static_cast<int>(a.Tk - first_key) : key_tile;

    const auto q = block.template tile<float>(height, depth_tile);    // (rows, depth)
    const auto k = block.template tile<float>(depth_tile, key_tile);  // (depth, keys)
    const auto s = block.template tile<float>(height, key_tile);      // (rows, keys)
    tile::fill(block, s, rows, keys, 0.0F);
    for (std::int64_t d = 0; d < a.D; d += depth_tile) {
      const int depth = a.D - d < depth_tile ? static_cast<int>(a.D - d) : depth_tile;
      tile::load(block, q, rows, depth, a.q_at.stride[3], [&arguments, group, d](std::int64_t r) {
        const auto place = group.place(r);
        return arguments.q + offset(arguments.q_at, group.b, place.head, place.query) + d * arguments.q_at.stride[3];
      });
      tile::load_transposed(block, k, keys, depth, a.k_at.stride[3], [&arguments, group, first_key, d](std::int64_t j) {
        return arguments.k + offset(arguments.k_at, group.b, group.kv_head, first_key + j) +
               d * arguments.k_at.stride[3];
      });
      tile::dot_add<typename R::Unit>(block, s, q, k, rows, keys, depth);
    }

    const float scale = a.scale;
    block.phase_rows(
        rows, keys, [=](std::int64_t r) { return s.row(static_cast<int>(r)); },
        [=](float* row, std::int64_t, std::int64_t j) { row[j] = R::score(row[j], scale); });
    if (a.bias != nullptr && a.bias_in_f32) add_bias<float>(block, group, s, rows, keys, first_key);
    if (a.bias != nullptr && !a.bias_in_f32) add_bias<T>(block, group, s, rows, keys, first_key);
    store(block, group, s, rows, keys, first_key);
  }

 private:
  template <class B, class Block>
  NBX_DEVICE void add_bias(Block& block, const RowGroup<T, R>& group, tile::Tile<float> s, int rows, int keys,
                           std::int64_t first_key) const {
    struct Row {
      float* score;
      const B* bias;
    };
    const auto& arguments = a;
    const std::int64_t step = a.bias_at.stride[3];
    const auto row = [&arguments, &group, s, first_key](std::int64_t r) {
      const auto place = group.place(r);
      const auto& at = arguments.bias_at;
      return Row{s.row(static_cast<int>(r)), static_cast<const B*>(arguments.bias) +
                                                 offset(at, group.b, place.head, place.query) +
                                                 first_key * at.stride[3]};
    };
    block.phase_rows(rows, keys, row, [=](const Row& at, std::int64_t, std::int64_t j) {
      at.score[j] = R::biased(at.score[j], tile::decode(at.bias[j * step]));
    });
  }

  template <class Block>
  NBX_DEVICE void store(Block& block, const RowGroup<T, R>& group, tile::Tile<float> s, int rows, int keys,
                        std::int64_t first_key) const {
    struct Row {
      const float* from;
      float* to;
      std::int64_t visible;  // of these keys
    };
    const auto& arguments = a;
    const auto row = [&arguments, &group, s, first_key](std::int64_t r) {
      const auto place = group.place(r);
      return Row{s.row(static_cast<int>(r)), arguments.scores + place.score * arguments.Tk + first_key,
                 R::visible(arguments, place.query) - first_key};
    };
    block.phase_rows(rows, keys, row, [](const Row& at, std::int64_t, std::int64_t j) {
      at.to[j] = tile::select(j < at.visible, at.from[j], R::hidden(at.from[j]));
    });
  }
};

}  // namespace nbx::math
