// Streaming attention over key tiles with weights exp2(z − m): a fixed m, or the running maximum.
#pragma once

#include "kernels/splash/rules.hpp"
#include "kernels/tile/load.hpp"

namespace nbx::splash {

inline constexpr int key_tile = 64;
inline constexpr int depth_tile = 64;
inline constexpr int column_tile = 64;

/// A word of device memory that lets a launch run: the choice between launches is made without the host. Null: runs.
struct Guard {
  const float* word = nullptr;
  float runs = 0;

  NBX_FUNCTION bool open() const { return word == nullptr || *word == runs; }
};

/// Strides are in elements; an axis of size 1 has stride 0.
template <class T>
struct AttendArguments {
  std::int64_t B, H, Tq, Tk, D, Dv, group;
  std::int64_t block_q, blocks;  // query rows of a block, blocks of a head
  const T *q, *k, *v;
  T* o;                  // null: the sums alone
  float *o_sum, *l, *m;  // null: not asked for
  pack::Layout<4> q_at, k_at, v_at, o_at, o_sum_at;
  pack::Layout<3> l_at, m_at;
  Way way;
  const float* mk;  // where the way is not online
  MkLayout mk_at;
  const float* k_mean;  // null: shifts are not centred
  pack::Layout<3> k_mean_at;
  Guard guard;
};

/// A block is (batch, head, query block, tile of `height` of its rows). Keys go through the tiles in rising order, 64
/// at a time, whatever the launch: o is one fma chain over all of them, l the sum of each tile's tree added in that
/// order.
template <class T, class R, bool Ftz>
struct Attend {
  AttendArguments<T> a;
  int height;

  std::int64_t tiles() const { return tile::ceil_div(a.block_q, height); }
  std::int64_t blocks() const { return a.B * a.H * a.blocks * tiles(); }
  std::size_t tile_bytes() const {
    const int D = static_cast<int>(a.D), Dv = static_cast<int>(a.Dv);
    return tile::tile_bytes<float>(height, D) + tile::tile_bytes<float>(depth_tile, key_tile) +
           tile::tile_bytes<float>(key_tile, column_tile) + tile::tile_bytes<float>(height, key_tile) +
           tile::tile_bytes<float>(height, Dv) + tile::tile_bytes<float>(height, tile::reduce_chains) +
           tile::tile_bytes<float>(height, 3);
  }

  template <class Block>
  NBX_DEVICE void operator()(Block& block) const {
    if (!a.guard.open()) return;
    Tiles t{block.template tile<float>(height, static_cast<int>(a.D)),
            block.template tile<float>(depth_tile, key_tile),
            block.template tile<float>(key_tile, column_tile),
            block.template tile<float>(height, key_tile),
            block.template tile<float>(height, static_cast<int>(a.Dv)),
            block.template tile<float>(height, tile::reduce_chains),
            block.template tile<float>(height, 3)};
    const std::int64_t per_block = tile::ceil_div(a.block_q, height);
    const std::int64_t of_rows = block.index() % (a.blocks * per_block);
    t.head = block.index() / (a.blocks * per_block) % a.H;
    t.b = block.index() / (a.blocks * per_block) / a.H;
    const std::int64_t query_block = of_rows / per_block;
    t.first = query_block * a.block_q + of_rows % per_block * height;
    const std::int64_t end = query_block * a.block_q + a.block_q;
    const std::int64_t last = end < a.Tq ? end : a.Tq;
    if (t.first >= last) return;
    t.rows = last - t.first < height ? static_cast<int>(last - t.first) : height;

    const auto& arguments = a;
    tile::load(block, t.q, t.rows, static_cast<int>(a.D), a.q_at.stride[3],
               [&arguments, t](std::int64_t r) { return arguments.q + at(arguments.q_at, t.b, t.head, t.first + r); });
    const bool fixed = start(block, t, query_block);
    for (std::int64_t key = 0; key < a.Tk; key += key_tile) {
      t.keys = a.Tk - key < key_tile ? static_cast<int>(a.Tk - key) : key_tile;
      scores(block, t, key);
      if (!fixed) follow_maximum(block, t);
      weigh(block, t, fixed);
      add_values(block, t, key);
    }
    store(block, t);
  }

 private:
  using Unit = typename UnitOf<Ftz>::Unit;
  enum { shift_column, sum_column, rescale_column };  // of state

  struct Tiles {
    tile::Tile<float> q;        // (rows, D)
    tile::Tile<float> k;        // (depth, keys)
    tile::Tile<float> v;        // (keys, columns)
    tile::Tile<float> s;        // (rows, keys): scores, then weights
    tile::Tile<float> o;        // (rows, Dv)
    tile::Tile<float> reduced;  // (rows, reduce_chains)
    tile::Tile<float> state;    // (rows, 3): m, l, the factor of the last move
    std::int64_t b = 0, head = 0, first = 0;
    int rows = 0, keys = 0;
  };

  NBX_FUNCTION static std::int64_t at(const pack::Layout<4>& layout, std::int64_t b, std::int64_t h, std::int64_t i) {
    return b * layout.stride[0] + h * layout.stride[1] + i * layout.stride[2];
  }

  /// Sets m, l and o; says whether the block takes the fixed way.
  template <class Block>
  NBX_DEVICE bool start(Block& block, const Tiles& t, std::int64_t query_block) const {
    bool fixed = a.way == Way::pinned;
    float shift = R::Max::identity;
    if (a.way != Way::online) {
      const float* const entry =
          a.mk + R::flags_of(t.b) * a.mk_at.batch + t.head * a.mk_at.head + query_block * a.mk_at.block;
      fixed = fixed || R::is_fixed(entry[a.mk_at.part]);
      if (fixed) shift = entry[0];
    }
    const float* const mean = !fixed || a.k_mean == nullptr ? nullptr
                                                            : a.k_mean + t.b * a.k_mean_at.stride[0] +
                                                                  R::kv_head(t.head, a.group) * a.k_mean_at.stride[1];
    const std::int64_t step = a.k_mean_at.stride[2];
    const int D = static_cast<int>(a.D);
    tile::fill(block, t.o, t.rows, static_cast<int>(a.Dv), 0.0F);
    block.phase(t.rows, [=](std::int64_t i) {
      const int r = static_cast<int>(i);
      float m = shift;
      if (mean != nullptr) {
        float chain = 0;
        for (int d = 0; d < D; ++d) chain = Unit::multiply_add(t.q(r, d), mean[d * step], chain);
        m = flushed<Ftz>(R::row_shift(shift, chain));
      }
      t.state(r, shift_column) = m;
      t.state(r, sum_column) = 0;
      t.state(r, rescale_column) = 1;
    });
    return fixed;
  }

  template <class Block>
  NBX_DEVICE void scores(Block& block, const Tiles& t, std::int64_t key) const {
    const auto& arguments = a;
    tile::fill(block, t.s, t.rows, t.keys, 0.0F);
    for (std::int64_t d = 0; d < a.D; d += depth_tile) {
      const int depth = a.D - d < depth_tile ? static_cast<int>(a.D - d) : depth_tile;
      tile::load_transposed(block, t.k, t.keys, depth, a.k_at.stride[3], [&arguments, t, key, d](std::int64_t j) {
        return arguments.k + at(arguments.k_at, t.b, R::kv_head(t.head, arguments.group), key + j) +
               d * arguments.k_at.stride[3];
      });
      tile::dot_add<Unit>(block, t.s, tile::Tile<float>{t.q.at + d, t.q.stride}, t.k, t.rows, t.keys, depth);
    }
  }

  template <class Block>
  NBX_DEVICE void follow_maximum(Block& block, const Tiles& t) const {
    tile::reduce_rows<typename R::Max>(
        block, t.reduced, t.rows, t.keys, [=](std::int64_t r) { return t.s.row(static_cast<int>(r)); },
        [](const float* row, std::int64_t, std::int64_t j) { return row[j]; });
    block.phase(t.rows, [=](std::int64_t i) {
      const int r = static_cast<int>(i);
      const float before = t.state(r, shift_column);
      const float after = R::Max::combine(before, t.reduced(r, 0));
      t.state(r, shift_column) = after;
      t.state(r, rescale_column) = flushed<Ftz>(R::rescale(before, after));
    });
    block.phase_rows(
        t.rows, a.Dv, [=](std::int64_t r) { return static_cast<int>(r); },
        [=](int r, std::int64_t, std::int64_t c) {
          float& sum = t.o(r, static_cast<int>(c));
          sum = flushed<Ftz>(sum * t.state(r, rescale_column));
        });
  }

  /// Scores to weights; their fp32 sum to l; then narrowed to Q's format for P·V alone.
  template <class Block>
  NBX_DEVICE void weigh(Block& block, const Tiles& t, bool fixed) const {
    struct Row {
      float* score;
      float shift;
    };
    tile::reduce_rows<typename R::Sum>(
        block, t.reduced, t.rows, t.keys,
        [=](std::int64_t r) {
          return Row{t.s.row(static_cast<int>(r)), t.state(static_cast<int>(r), shift_column)};
        },
        [](const Row& row, std::int64_t, std::int64_t j) {
          // No finite score so far: nothing to weigh, and no −inf − (−inf).
          const float distance =
              tile::select(row.score[j] == R::Max::identity, R::Max::identity, flushed<Ftz>(row.score[j] - row.shift));
          const float weight = flushed<Ftz>(R::weight(distance));
          row.score[j] = weight;
          return weight;
        });
    block.phase(t.rows, [=](std::int64_t i) {
      const int r = static_cast<int>(i);
      const float before = fixed ? t.state(r, sum_column) : t.state(r, sum_column) * t.state(r, rescale_column);
      t.state(r, sum_column) = flushed<Ftz>(flushed<Ftz>(before) + t.reduced(r, 0));
    });
    block.phase_rows(
        t.rows, t.keys, [=](std::int64_t r) { return t.s.row(static_cast<int>(r)); },
        [](float* row, std::int64_t, std::int64_t j) { row[j] = flushed<Ftz>(R::template narrowed<T>(row[j])); });
  }

  template <class Block>
  NBX_DEVICE void add_values(Block& block, const Tiles& t, std::int64_t key) const {
    const auto& arguments = a;
    for (std::int64_t column = 0; column < a.Dv; column += column_tile) {
      const int columns = a.Dv - column < column_tile ? static_cast<int>(a.Dv - column) : column_tile;
      tile::load(block, t.v, t.keys, columns, a.v_at.stride[3], [&arguments, t, key, column](std::int64_t j) {
        return arguments.v + at(arguments.v_at, t.b, R::kv_head(t.head, arguments.group), key + j) +
               column * arguments.v_at.stride[3];
      });
      tile::dot_add<Unit>(block, tile::Tile<float>{t.o.at + column, t.o.stride}, t.s, t.v, t.rows, columns, t.keys);
    }
  }

  template <class Block>
  NBX_DEVICE void store(Block& block, const Tiles& t) const {
    const auto& arguments = a;
    block.phase(t.rows, [&arguments, t](std::int64_t i) {
      const int r = static_cast<int>(i);
      const std::int64_t row = t.first + i;
      const auto place = [&](const pack::Layout<3>& layout) {
        return t.b * layout.stride[0] + t.head * layout.stride[1] + row * layout.stride[2];
      };
      if (arguments.l != nullptr) arguments.l[place(arguments.l_at)] = t.state(r, sum_column);
      if (arguments.m != nullptr) arguments.m[place(arguments.m_at)] = t.state(r, shift_column);
    });
    block.phase_rows(
        t.rows, a.Dv, [=](std::int64_t r) { return static_cast<int>(r); },
        [&arguments, t](int r, std::int64_t, std::int64_t c) {
          const std::int64_t row = t.first + r;
          const float sum = t.o(r, static_cast<int>(c));
          if (arguments.o_sum != nullptr) {
            arguments.o_sum[at(arguments.o_sum_at, t.b, t.head, row) + c * arguments.o_sum_at.stride[3]] = sum;
          }
          if (arguments.o != nullptr) {
            const float out = tile::settle(flushed<Ftz>(R::quotient(sum, t.state(r, sum_column))));
            arguments.o[at(arguments.o_at, t.b, t.head, row) + c * arguments.o_at.stride[3]] = tile::encode<T>(out);
          }
        });
  }
};

}  // namespace nbx::splash
