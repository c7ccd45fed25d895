// From the hops of a ring to its output: sums of one shift add up; results of different shifts are divided by their own
// sums and merged by their base-2 LSE.
#pragma once

#include "kernels/splash/attend.hpp"
#include "kernels/splash/ring_rules.hpp"

namespace nbx::splash {

inline constexpr int merge_rows = 16;

/// All dense: rows are (batch, head, query).
struct MergeArguments {
  std::int64_t rows, Dv;
  const float *o_hop, *l_hop, *m_hop;  // [rows, Dv], [rows], [rows]: a hop's sums
  float *o, *l;                        // so far: o and l, or, by LSE, o divided and its LSE
  bool first;                          // nothing so far
  Guard guard;

  /// Of block `index`: [begin, begin + count).
  struct Rows {
    std::int64_t begin, count;
  };
  NBX_FUNCTION Rows rows_of(std::int64_t index) const {
    const std::int64_t begin = index * merge_rows;
    return {begin, rows - begin < merge_rows ? rows - begin : merge_rows};
  }
  std::int64_t blocks() const { return tile::ceil_div(rows, merge_rows); }
};

/// Uniform: o += o_hop and l += l_hop.
template <class R, bool Ftz>
struct AddHop {
  MergeArguments a;

  std::int64_t blocks() const { return a.blocks(); }
  std::size_t tile_bytes() const { return 0; }

  template <class Block>
  NBX_DEVICE void operator()(Block& block) const {
    if (!a.guard.open()) return;
    const MergeArguments::Rows own = a.rows_of(block.index());
    const auto& arguments = a;
    const auto add = [&arguments](float& sum, float hop) {
      sum = arguments.first ? hop : flushed<Ftz>(R::added(sum, hop));
    };
    block.phase(own.count, [&arguments, add, own](std::int64_t i) {
      add(arguments.l[own.begin + i], arguments.l_hop[own.begin + i]);
    });
    block.phase_rows(
        own.count, a.Dv, [=](std::int64_t r) { return (own.begin + r) * arguments.Dv; },
        [&arguments, add](std::int64_t row, std::int64_t, std::int64_t c) {
          add(arguments.o[row + c], arguments.o_hop[row + c]);
        });
  }
};

/// With L = m + log2 l of the hop and A of what is so far, M = max(A, L): o = (o 2^(A−M) + o_hop / l 2^(L−M)) / w and
/// A = M + log2 w, w = 2^(A−M) + 2^(L−M).
template <class R, bool Ftz>
struct MergeHop {
  MergeArguments a;

  std::int64_t blocks() const { return a.blocks(); }
  std::size_t tile_bytes() const { return tile::tile_bytes<float>(merge_rows, 4); }

  template <class Block>
  NBX_DEVICE void operator()(Block& block) const {
    if (!a.guard.open()) return;
    const MergeArguments::Rows own = a.rows_of(block.index());
    const auto& arguments = a;
    const auto state = block.template tile<float>(merge_rows, 4);  // 2^(A−M), 2^(L−M), w, l of the hop
    block.phase(own.count, [&arguments, state, own](std::int64_t i) {
      const int r = static_cast<int>(i);
      const std::int64_t row = own.begin + i;
      const float l = arguments.l_hop[row];
      const float hop = flushed<Ftz>(R::lse(arguments.m_hop[row], l));
      const float before = arguments.first ? R::Max::identity : arguments.l[row];
      const float largest = R::Max::combine(before, hop);
      const float of_before = flushed<Ftz>(R::share(before, largest)), of_hop = flushed<Ftz>(R::share(hop, largest));
      const float sum = of_before + of_hop;
      state(r, 0) = of_before;
      state(r, 1) = of_hop;
      state(r, 2) = sum;
      state(r, 3) = l;
      arguments.l[row] = arguments.first ? hop : flushed<Ftz>(R::lse(largest, sum));
    });
    block.phase_rows(
        own.count, a.Dv, [=](std::int64_t r) { return static_cast<int>(r); },
        [&arguments, state, own](int r, std::int64_t, std::int64_t c) {
          const std::int64_t element = (own.begin + r) * arguments.Dv + c;
          float& o = arguments.o[element];
          const float hop = flushed<Ftz>(R::quotient(arguments.o_hop[element], state(r, 3)));
          if (arguments.first) {
            o = hop;
            return;
          }
          const float sum = flushed<Ftz>(flushed<Ftz>(o * state(r, 0)) + flushed<Ftz>(hop * state(r, 1)));
          o = flushed<Ftz>(R::quotient(sum, state(r, 2)));
        });
  }
};

/// Into the caller's tensor, in its format. `sums`: o is still to be divided by l.
template <class T, class R, bool Ftz>
struct StoreOutput {
  MergeArguments a;
  std::int64_t H, Tq;
  T* out;
  pack::Layout<4> out_at;
  bool sums;

  std::int64_t blocks() const { return a.blocks(); }
  std::size_t tile_bytes() const { return 0; }

  template <class Block>
  NBX_DEVICE void operator()(Block& block) const {
    if (!a.guard.open()) return;
    const MergeArguments::Rows own = a.rows_of(block.index());
    const auto& self = *this;
    block.phase_rows(
        own.count, a.Dv, [=](std::int64_t r) { return own.begin + r; },
        [&self](std::int64_t row, std::int64_t, std::int64_t c) {
          const float o = self.a.o[row * self.a.Dv + c];
          const float value = self.sums ? flushed<Ftz>(R::quotient(o, self.a.l[row])) : o;
          const std::int64_t head = row / self.Tq;
          self.out[head / self.H * self.out_at.stride[0] + head % self.H * self.out_at.stride[1] +
                   row % self.Tq * self.out_at.stride[2] + c * self.out_at.stride[3]] =
              tile::encode<T>(tile::settle(value));
        });
  }
};

}  // namespace nbx::splash
