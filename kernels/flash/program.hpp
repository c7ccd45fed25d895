// flash as a block program: streaming softmax over tiles of keys.
#pragma once

#include <type_traits>

#include "kernels/flash/rules.hpp"
#include "kernels/flash/tiles.hpp"
#include "kernels/tile/load.hpp"

namespace nbx::flash {

/// A block is (batch, head, tile of `height` queries). Of each row it keeps the maximum m of the scores so far, the sum
/// l of exp(s − m) over them, and O = Σ exp(s − m)·v; a tile of keys that moves m multiplies both by exp(m_old − m).
/// A key tile in which a row sees nothing leaves m, l and O as they are, bit for bit, so a row's bits depend on none of
/// its neighbours in the tile.
template <class T, class R>
struct Program {
  using Arguments = typename R::template Arguments<T>;

  Arguments a;
  int height;  // queries of a block
  int width;   // keys of a tile
  int extra;   // columns of padding behind the head dim
  float query_scale;

  int depth() const { return static_cast<int>(a.D) + extra; }
  int columns() const { return static_cast<int>(a.Dv); }
  std::int64_t query_tiles() const { return tile::ceil_div(a.Tq, height); }
  std::int64_t blocks() const { return a.B * a.H * query_tiles(); }
  std::size_t tile_bytes() const { return tile_bytes(a.D, a.Dv, height, width, extra); }

  static std::size_t tile_bytes(std::int64_t D, std::int64_t Dv, int height, int width, int extra) {
    const int depth = static_cast<int>(D) + extra;
    const int columns = static_cast<int>(Dv);
    return tile::tile_bytes<float>(height, depth) + tile::tile_bytes<float>(depth, width) +
           tile::tile_bytes<float>(height, width) + tile::tile_bytes<float>(width, columns) +
           tile::tile_bytes<float>(height, columns) + tile::tile_bytes<float>(R::row_values, height);
  }

  template <class Block>
  NBX_DEVICE void operator()(Block& block) const {
    const std::int64_t tiles = tile::ceil_div(a.Tq, height);
    const std::int64_t first = block.index() % tiles * height;
    const Place place{block.index() / tiles / a.H, block.index() / tiles % a.H,
                      R::kv_head(a, block.index() / tiles % a.H), first};
    const int rows = a.Tq - first < height ? static_cast<int>(a.Tq - first) : height;
    const int dims = static_cast<int>(a.D);
    const int values = static_cast<int>(a.Dv);
    const std::int64_t all_keys = R::template keys<Arguments, R>(a, first + rows - 1);

    const auto q = block.template tile<float>(height, dims + extra);  // (rows, depth)
    const auto k = block.template tile<float>(dims + extra, width);   // (depth, keys)
    const auto s = block.template tile<float>(height, width);         // (rows, keys): scores, then weights
    const auto v = block.template tile<float>(width, values);         // (keys, columns)
    const auto o = block.template tile<float>(height, values);        // (rows, columns)
    const RowState row(block.template tile<float>(R::row_values, height));
    const auto& arguments = a;

    tile::load(block, q, rows, dims, a.q_at.stride[3], [&arguments, place](std::int64_t r) {
      return arguments.q + math::offset(arguments.q_at, place.b, place.head, place.first + r);
    });
    R::prepare_query(block, q, rows, dims, query_scale);
    if (extra > 0) pad_columns(block, q, rows, dims);
    tile::fill(block, o, rows, values, 0.0F);
    block.phase(rows, [=](std::int64_t r) {
      row.max[r] = R::Max::identity;
      row.sum[r] = 0.0F;
      R::begin(row, r);
    });
    for (std::int64_t key = 0; key < all_keys; key += width) {
      const int keys = all_keys - key < width ? static_cast<int>(all_keys - key) : width;
      tile::load_transposed(block, k, keys, dims, a.k_at.stride[3], [&arguments, place, key](std::int64_t j) {
        return arguments.k + math::offset(arguments.k_at, place.b, place.kv_head, key + j);
      });
      if (extra > 0) pad_rows(block, k, dims, keys);
      tile::load(block, v, keys, values, a.v_at.stride[3], [&arguments, place, key](std::int64_t j) {
        return arguments.v + math::offset(arguments.v_at, place.b, place.kv_head, key + j);
      });
      R::template scores<R>(block, s, q, k, rows, keys, dims + extra);
      mask(block, place, s, rows, keys, key);
      R::template weigh<R>(block, query_scale, row, s, rows, keys);
      narrow(block, s, rows, keys);
      R::template values<R>(block, o, row.factor, s, v, rows, values, keys);
    }
    R::finish(block, row, rows);
    store(block, place, row, o, rows, values);
  }

 private:
  struct Place {
    std::int64_t b, head, kv_head, first;  // first: query of the tile
  };
  template <class Block>
  NBX_DEVICE void pad_columns(Block& block, tile::Tile<float> q, int rows, int from) const {
    const int more = extra;
    block.phase(rows * more, [=](std::int64_t i) {
      q(static_cast<int>(i) / more, from + static_cast<int>(i) % more) = R::padding();
    });
  }
  template <class Block>
  NBX_DEVICE void pad_rows(Block& block, tile::Tile<float> k, int from, int keys) const {
    block.phase(extra * keys, [=](std::int64_t i) {
      k(from + static_cast<int>(i) / keys, static_cast<int>(i) % keys) = R::padding();
    });
  }

  /// Scales s, adds the bias, and takes away what a row does not see.
  template <class Block>
  NBX_DEVICE void mask(Block& block, const Place& place, tile::Tile<float> s, int rows, int keys,
                       std::int64_t first_key) const {
    struct Row {
      float* score;
      std::int64_t visible;  // of these keys
    };
    const auto& arguments = a;
    const float scale = R::head_scale(a, place.b, place.head, place.kv_head);
    const auto row = [&arguments, place, s, first_key](std::int64_t r) {
      return Row{s.row(static_cast<int>(r)), R::visible(arguments, place.first + r) - first_key};
    };
    if (a.bias != nullptr) {
      block.phase_rows(rows, keys, row, [=](const Row& at, std::int64_t, std::int64_t j) {
        at.score[j] = R::score(at.score[j], scale);
      });
      if (a.bias_in_f32) add_bias<float>(block, place, s, rows, keys, first_key);
      if (!a.bias_in_f32) add_bias<T>(block, place, s, rows, keys, first_key);
      block.phase_rows(rows, keys, row, [=](const Row& at, std::int64_t, std::int64_t j) {
        at.score[j] = tile::select(j < at.visible, at.score[j], R::hidden(at.score[j]));
      });
    } else {
      block.phase_rows(rows, keys, row, [=](const Row& at, std::int64_t, std::int64_t j) {
        const float score = R::score(at.score[j], scale);
        at.score[j] = tile::select(j < at.visible, score, R::hidden(score));
      });
    }
  }

  template <class B, class Block>
  NBX_DEVICE void add_bias(Block& block, const Place& place, tile::Tile<float> s, int rows, int keys,
                           std::int64_t first_key) const {
    struct Row {
      float* score;
      const B* bias;
    };
    const auto& arguments = a;
    const std::int64_t step = a.bias_at.stride[3];
    const float of_query = query_scale;
    const auto row = [&arguments, place, s, first_key](std::int64_t r) {
      const auto& at = arguments.bias_at;
      return Row{s.row(static_cast<int>(r)), static_cast<const B*>(arguments.bias) +
                                                 math::offset(at, place.b, place.head, place.first + r) +
                                                 first_key * at.stride[3]};
    };
    block.phase_rows(rows, keys, row, [=](const Row& at, std::int64_t, std::int64_t j) {
      at.score[j] = R::template with_bias<R>(at.score[j], tile::decode(at.bias[j * step]), of_query);
    });
  }

  template <class Block>
  NBX_DEVICE void narrow(Block& block, tile::Tile<float> p, int rows, int keys) const {
    if constexpr (R::narrows) {
      block.phase_rows(
          rows, keys, [=](std::int64_t r) { return p.row(static_cast<int>(r)); },
          [](float* weight, std::int64_t, std::int64_t j) { weight[j] = R::template narrowed<T>(weight[j]); });
    }
  }

  template <class Block>
  NBX_DEVICE void store(Block& block, const Place& place, const RowState& row, tile::Tile<float> o, int rows,
                        int columns) const {
    using O = std::remove_pointer_t<decltype(Arguments::o)>;
    struct Row {
      const float* from;
      O* to;
      float max, sum;
    };
    const auto& arguments = a;
    const float by = R::value_scale(a, place.b, place.kv_head);
    const std::int64_t step = a.o_at.stride[3];
    const auto prepare = [&arguments, place, row, o](std::int64_t r) {
      return Row{o.row(static_cast<int>(r)),
                 arguments.o + math::offset(arguments.o_at, place.b, place.head, place.first + r), row.max[r],
                 row.sum[r]};
    };
    block.phase_rows(rows, columns, prepare, [&arguments, step, by](const Row& at, std::int64_t, std::int64_t c) {
      at.to[c * step] = R::template normalised<O>(arguments, R::scaled_sum(at.from[c], by), at.max, at.sum);
    });
    if (a.lse == nullptr) return;
    block.phase(rows, [&arguments, place, row](std::int64_t r) {
      const auto& at = arguments.lse_at;
      arguments.lse[place.b * at.stride[0] + place.head * at.stride[1] + (place.first + r) * at.stride[2]] =
          R::is_empty(row.max[r]) ? R::Max::identity : R::lse(row.max[r], row.sum[r]);
    });
  }
};

}  // namespace nbx::flash
