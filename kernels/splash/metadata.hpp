// The metadata of fixed-m attention: the mean of the keys, squared norms that are no less than the exact ones, and from
// them shift and flag of every query block.
#pragma once

#include "kernels/splash/rules.hpp"

namespace nbx::splash {

inline constexpr int norm_tile = 64;  // keys or query rows whose norms a block takes

/// Scratch is dense, in fp32; outputs that are not asked for are null.
template <class T>
struct MetadataArguments {
  std::int64_t B, H, Hk, Tq, Tk, D, Dv, group;
  std::int64_t block_q, blocks, key_tiles, query_tiles;
  const T *q, *k, *v;
  pack::Layout<4> q_at, k_at, v_at;
  float* mean;        // [B, Hk, D]
  float* key_part;    // [B, Hk, 3, key_tiles]: centred norm², raw norm², |v|, the largest of each tile
  float* query_part;  // [B, H, blocks]: norm², the largest of each block
  float* mk;          // [B, 2, H, blocks], where the strides say
  MkLayout mk_at;
  float* all;  // 1 where every block is eligible
  float *k_mean, *q_norm2, *k_norm2, *v_ok;
  pack::Layout<3> k_mean_at, q_norm2_at;
  pack::Layout<2> k_norm2_at, v_ok_at;
  float v_max;
  Window window;
  bool per_head, holds;  // holds: the activation format holds 2^C
};

template <class T>
NBX_FUNCTION std::int64_t element(const pack::Layout<4>& at, std::int64_t b, std::int64_t h, std::int64_t i) {
  return b * at.stride[0] + h * at.stride[1] + i * at.stride[2];
}

/// k̄ over the real keys: a block is (batch, KV head, 64 components). The sum is reduce_rows' over keys.
template <class T, class R>
struct KeyMean {
  MetadataArguments<T> a;

  std::int64_t pieces() const { return tile::ceil_div(a.D, norm_tile); }
  std::int64_t blocks() const { return a.B * a.Hk * pieces(); }
  std::size_t tile_bytes() const { return tile::tile_bytes<float>(norm_tile, tile::reduce_chains); }

  template <class Block>
  NBX_DEVICE void operator()(Block& block) const {
    const std::int64_t count = tile::ceil_div(a.D, norm_tile);
    const std::int64_t first = block.index() % count * norm_tile;
    const std::int64_t head = block.index() / count;  // of B · Hk
    const int rows = a.D - first < norm_tile ? static_cast<int>(a.D - first) : norm_tile;
    const auto sums = block.template tile<float>(norm_tile, tile::reduce_chains);  // (components, chains)
    const T* const keys = a.k + element<T>(a.k_at, head / a.Hk, head % a.Hk, 0) + first * a.k_at.stride[3];
    const std::int64_t component = a.k_at.stride[3], key = a.k_at.stride[2];
    const std::int64_t real = R::real_keys(a.Tk);
    tile::reduce_rows<typename R::Sum>(
        block, sums, rows, real, [=](std::int64_t r) { return keys + r * component; },
        [=](const T* column, std::int64_t, std::int64_t j) { return tile::decode(column[j * key]); });
    float* const mean = a.mean + head * a.D + first;
    float* const out = a.k_mean == nullptr ? nullptr
                                           : a.k_mean + head / a.Hk * a.k_mean_at.stride[0] +
                                                 head % a.Hk * a.k_mean_at.stride[1] + first * a.k_mean_at.stride[2];
    const std::int64_t step = a.k_mean_at.stride[2];
    const auto n = static_cast<float>(real);
    block.phase(rows, [=](std::int64_t i) {
      const float one = R::mean(sums(static_cast<int>(i), 0), n);
      mean[i] = one;
      if (out != nullptr) out[i * step] = one;
    });
  }
};

/// The largest norms of 64 keys, and the largest |v|: a block is (batch, KV head, tile).
template <class T, class R>
struct KeyNorms {
  MetadataArguments<T> a;

  std::int64_t blocks() const { return a.B * a.Hk * a.key_tiles; }
  std::size_t tile_bytes() const {
    return tile::tile_bytes<float>(norm_tile, tile::reduce_chains) + tile::tile_bytes<float>(3, norm_tile) +
           tile::tile_bytes<float>(3, tile::reduce_chains);
  }

  template <class Block>
  NBX_DEVICE void operator()(Block& block) const {
    const std::int64_t tile_index = block.index() % a.key_tiles;
    const std::int64_t head = block.index() / a.key_tiles;
    const std::int64_t first = tile_index * norm_tile;
    const int rows = a.Tk - first < norm_tile ? static_cast<int>(a.Tk - first) : norm_tile;
    const auto sums = block.template tile<float>(norm_tile, tile::reduce_chains);
    const auto norms = block.template tile<float>(3, norm_tile);
    const auto largest = block.template tile<float>(3, tile::reduce_chains);
    const auto& arguments = a;
    const float* const mean = a.mean + head * a.D;
    const auto key_row = [&arguments, head, first](std::int64_t r) {
      return arguments.k + element<T>(arguments.k_at, head / arguments.Hk, head % arguments.Hk, first + r);
    };
    const std::int64_t step = a.k_at.stride[3], v_step = a.v_at.stride[3], D = a.D;
    const auto keep = [&](int which, bool norm) {
      block.phase(rows, [=](std::int64_t i) {
        const int r = static_cast<int>(i);
        norms(which, r) = norm ? R::norm2(sums(r, 0), D) : sums(r, 0);
      });
    };
    tile::reduce_rows<typename R::Sum>(block, sums, rows, D, key_row, [=](const T* key, std::int64_t, std::int64_t d) {
      const float c = R::centred(tile::decode(key[d * step]), mean[d]);
      return c * c;
    });
    keep(0, true);
    tile::reduce_rows<typename R::Sum>(block, sums, rows, D, key_row, [=](const T* key, std::int64_t, std::int64_t d) {
      const float c = tile::decode(key[d * step]);
      return c * c;
    });
    keep(1, true);
    tile::reduce_rows<typename R::Max>(
        block, sums, rows, a.Dv,
        [&arguments, head, first](std::int64_t r) {
          return arguments.v + element<T>(arguments.v_at, head / arguments.Hk, head % arguments.Hk, first + r);
        },
        [=](const T* value, std::int64_t, std::int64_t d) {
          return tile::float_of(tile::bits_of(tile::decode(value[d * v_step])) & 0x7FFFFFFFU);
        });
    keep(2, false);
    tile::reduce_rows<typename R::Max>(
        block, largest, 3, rows, [=](std::int64_t r) { return norms.row(static_cast<int>(r)); },
        [](const float* row, std::int64_t, std::int64_t j) { return row[j]; });
    float* const out = a.key_part + head * 3 * a.key_tiles + tile_index;
    const std::int64_t apart = a.key_tiles;
    block.phase(3, [=](std::int64_t i) { out[i * apart] = largest(static_cast<int>(i), 0); });
  }
};

/// The largest norm of a query block's rows: a block of the grid is (batch, head, query block).
template <class T, class R>
struct QueryNorms {
  MetadataArguments<T> a;

  std::int64_t blocks() const { return a.B * a.H * a.blocks; }
  std::size_t tile_bytes() const {
    return tile::tile_bytes<float>(norm_tile, tile::reduce_chains) + tile::tile_bytes<float>(1, 1);
  }

  template <class Block>
  NBX_DEVICE void operator()(Block& block) const {
    const std::int64_t query_block = block.index() % a.blocks;
    const std::int64_t head = block.index() / a.blocks;  // of B · H
    const std::int64_t begin = query_block * a.block_q;
    const std::int64_t end = begin + a.block_q < a.Tq ? begin + a.block_q : a.Tq;
    const auto sums = block.template tile<float>(norm_tile, tile::reduce_chains);
    const auto largest = block.template tile<float>(1, 1);
    block.phase(1, [=](std::int64_t) { largest(0, 0) = 0; });
    const auto& arguments = a;
    const std::int64_t step = a.q_at.stride[3], D = a.D;
    for (std::int64_t first = begin; first < end; first += norm_tile) {
      const int rows = end - first < norm_tile ? static_cast<int>(end - first) : norm_tile;
      tile::reduce_rows<typename R::Sum>(
          block, sums, rows, D,
          [&arguments, head, first](std::int64_t r) {
            return arguments.q + element<T>(arguments.q_at, head / arguments.H, head % arguments.H, first + r);
          },
          [=](const T* row, std::int64_t, std::int64_t d) {
            const float c = tile::decode(row[d * step]);
            return c * c;
          });
      block.phase(1, [=](std::int64_t) {
        for (int r = 0; r < rows; ++r) {
          largest(0, 0) = tile::max_nan(largest(0, 0), R::norm2(sums(r, 0), D));
        }
      });
    }
    float* const out = a.query_part + block.index();
    float* const given = a.q_norm2 == nullptr
                             ? nullptr
                             : a.q_norm2 + head / a.H * a.q_norm2_at.stride[0] + head % a.H * a.q_norm2_at.stride[1] +
                                   query_block * a.q_norm2_at.stride[2];
    block.phase(1, [=](std::int64_t) {
      *out = largest(0, 0);
      if (given != nullptr) *given = largest(0, 0);
    });
  }
};

/// Shift and flag of every query block: a block of the grid is (batch, head).
template <class T, class R>
struct Flags {
  MetadataArguments<T> a;

  std::int64_t blocks() const { return a.B * a.H; }
  std::size_t tile_bytes() const {
    return tile::tile_bytes<float>(3, tile::reduce_chains) + tile::tile_bytes<float>(1, tile::reduce_chains);
  }

  template <class Block>
  NBX_DEVICE void operator()(Block& block) const {
    const std::int64_t b = block.index() / a.H, h = block.index() % a.H, kv = h / a.group;
    const auto of_keys = block.template tile<float>(3, tile::reduce_chains);
    const auto of_head = block.template tile<float>(1, tile::reduce_chains);
    const float* const parts = a.key_part + (b * a.Hk + kv) * 3 * a.key_tiles;
    const std::int64_t apart = a.key_tiles;
    tile::reduce_rows<typename R::Max>(
        block, of_keys, 3, a.key_tiles, [=](std::int64_t r) { return parts + r * apart; },
        [](const float* row, std::int64_t, std::int64_t j) { return row[j]; });
    const float* const queries = a.query_part + block.index() * a.blocks;
    tile::reduce_rows<typename R::Max>(
        block, of_head, 1, a.blocks, [=](std::int64_t) { return queries; },
        [](const float* row, std::int64_t, std::int64_t j) { return row[j]; });
    const auto& arguments = a;
    block.phase(a.blocks, [&arguments, of_keys, of_head, queries, b, h](std::int64_t i) {
      const auto& at = arguments.mk_at;
      const float q2 = arguments.per_head ? of_head(0, 0) : queries[i];
      const float square = R::bound2(q2, of_keys(0, 0));
      const Window& w = arguments.window;
      const bool eligible = arguments.holds && R::below_gate(square, w.gate) &&
                            R::values_fit(of_keys(2, 0), arguments.v_max) &&
                            R::scores_known(q2, of_keys(1, 0), arguments.D);
      float* const entry = arguments.mk + b * at.batch + h * at.head + i * at.block;
      entry[0] = eligible ? R::shift(square, w.gate, w.C) : 0.0F;
      entry[at.part] = eligible ? 1.0F : 0.0F;
    });
    if (h % a.group != 0) return;
    block.phase(1, [&arguments, of_keys, b, kv](std::int64_t) {
      const auto& norm = arguments.k_norm2_at;
      const auto& fits = arguments.v_ok_at;
      if (arguments.k_norm2 != nullptr) {
        arguments.k_norm2[b * norm.stride[0] + kv * norm.stride[1]] = of_keys(0, 0);
      }
      if (arguments.v_ok != nullptr) {
        arguments.v_ok[b * fits.stride[0] + kv * fits.stride[1]] =
            arguments.holds && R::values_fit(of_keys(2, 0), arguments.v_max) ? 1.0F : 0.0F;
      }
    });
  }
};

/// Whether every block of the whole batch is eligible: one block of the grid.
template <class T, class R>
struct AllEligible {
  MetadataArguments<T> a;

  std::int64_t blocks() const { return 1; }
  std::size_t tile_bytes() const { return tile::tile_bytes<float>(1, tile::reduce_chains); }

  template <class Block>
  NBX_DEVICE void operator()(Block& block) const {
    const auto falls_back = block.template tile<float>(1, tile::reduce_chains);
    const auto& arguments = a;
    tile::reduce_rows<typename R::Max>(
        block, falls_back, 1, a.B * a.H * a.blocks, [](std::int64_t) { return 0; },
        [&arguments](int, std::int64_t, std::int64_t i) {
          const auto& at = arguments.mk_at;
          const std::int64_t head = i / arguments.blocks;
          const float* const entry = arguments.mk + head / arguments.H * at.batch + head % arguments.H * at.head +
                                     i % arguments.blocks * at.block;
          return R::falls_back(entry[at.part]);
        });
    float* const all = a.all;
    block.phase(1, [=](std::int64_t) { *all = falls_back(0, 0) > 0.0F ? 0.0F : 1.0F; });
  }
};

}  // namespace nbx::splash
