// The third stage of math: O = P·V, narrowed to the output's format.
#pragma once

#include "kernels/math/arguments.hpp"
#include "kernels/math/scores.hpp"
#include "kernels/tile/load.hpp"

namespace nbx::math {

inline constexpr int column_tile = 64;

/// A block is (batch, KV head, tile of `height` rows, tile of 64 columns of V). Keys go through the tiles in pieces of
/// 64, which make one chain.
template <class T, class R>
struct ValueStage {
  Arguments<T> a;
  int height;

  std::int64_t row_tiles() const { return tile::ceil_div(a.group * a.rows, height); }
  std::int64_t blocks() const { return a.B * a.Hk * row_tiles() * tile::ceil_div(a.Dv, column_tile); }
  std::size_t tile_bytes() const {
    return tile::tile_bytes<float>(height, key_tile) + tile::tile_bytes<float>(key_tile, column_tile) +
           tile::tile_bytes<float>(height, column_tile);
  }

  template <class Block>
  NBX_DEVICE void operator()(Block& block) const {
    const auto& arguments = a;
    const std::int64_t column_tiles = tile::ceil_div(a.Dv, column_tile);
    const std::int64_t column = block.index() % column_tiles * column_tile;
    const std::int64_t tiles = tile::ceil_div(a.group * a.rows, height);
    const std::int64_t of_rows = block.index() / column_tiles;
    const RowGroup<T, R> group{arguments, of_rows / tiles / a.Hk, of_rows / tiles % a.Hk, of_rows % tiles * height};

    const std::int64_t rows_left = a.group * a.rows - group.first;
    const int rows = rows_left < height ? static_cast<int>(rows_left) : height;
    const int columns = a.Dv - column < column_tile ? static_cast<int>(a.Dv - column) : column_tile;
    const std::int64_t all_keys = group.keys(rows);

    const auto p = block.template tile<float>(height, key_tile);       // (rows, keys)
    const auto v = block.template tile<float>(key_tile, column_tile);  // (keys, columns)
    const auto o = block.template tile<float>(height, column_tile);    // (rows, columns)
    tile::fill(block, o, rows, columns, 0.0F);
    for (std::int64_t first_key = 0; first_key < all_keys; first_key += key_tile) {
      const int keys = all_keys - first_key < key_tile ? static_cast<int>(all_keys - first_key) : key_tile;
      load_weights(block, group, p, rows, keys, first_key);
      tile::load(block, v, keys, columns, a.v_at.stride[3], [&arguments, group, first_key, column](std::int64_t j) {
        return arguments.v + offset(arguments.v_at, group.b, group.kv_head, first_key + j) +
               column * arguments.v_at.stride[3];
      });
      // Where V is finite, a term that is absent changes at most the sign of a zero.
      if (tile::any_non_finite(block, v, keys, columns)) {
        tile::dot_add<typename R::Unit, tile::Terms::present>(block, o, p, v, rows, columns, keys);
      } else {
        tile::dot_add<typename R::Unit>(block, o, p, v, rows, columns, keys);
      }
    }
    store(block, group, o, rows, columns, column);
  }

 private:
  /// Keys beyond a row's own are no terms; what the workspace holds at their places is read and dropped.
  template <class Block>
  NBX_DEVICE void load_weights(Block& block, const RowGroup<T, R>& group, tile::Tile<float> p, int rows, int keys,
                               std::int64_t first_key) const {
    struct Row {
      float* to;
      const T* from;
      std::int64_t keys;
    };
    const auto& arguments = a;
    const auto row = [&arguments, &group, p, first_key](std::int64_t r) {
      const auto place = group.place(r);
      return Row{p.row(static_cast<int>(r)), arguments.weights + place.score * arguments.Tk + first_key,
                 R::template keys<Arguments<T>, R>(arguments, place.query) - first_key};
    };
    block.phase_rows(rows, keys, row, [](const Row& at, std::int64_t, std::int64_t j) {
      at.to[j] = tile::select(j < at.keys, tile::decode(at.from[j]), tile::no_term());
    });
  }

  template <class Block>
  NBX_DEVICE void store(Block& block, const RowGroup<T, R>& group, tile::Tile<float> o, int rows, int columns,
                        std::int64_t column) const {
    struct Row {
      const float* from;
      T* to;
    };
    const auto& arguments = a;
    const std::int64_t step = a.o_at.stride[3];
    const auto row = [&arguments, &group, o, column](std::int64_t r) {
      const auto place = group.place(r);
      return Row{o.row(static_cast<int>(r)), arguments.o + offset(arguments.o_at, group.b, place.head, place.query) +
                                                 column * arguments.o_at.stride[3]};
    };
    block.phase_rows(rows, columns, row, [=](const Row& at, std::int64_t, std::int64_t c) {
      at.to[c * step] = R::template output<T>(at.from[c]);
    });
  }
};

}  // namespace nbx::math
