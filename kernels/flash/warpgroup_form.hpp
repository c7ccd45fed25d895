// CUDA alone, and code for sm_90a: flash on warpgroups, for rows of up to 128 16-bit elements. The bits are those of
// the program of flash under WholeRules, as register_form.hpp's: the products of a warpgroup are those of m16n8k16
// (`nbx-contract probe` holds both against one model), and everything else is computed by the same functions in the
// same order.
//
// Of a block's warpgroups one asks for boxes of K and V, and two have 64 rows of queries each, with Q, S, P and O in
// registers. While a tile's weights are computed, the values of the last tile are in the matrix units, and the products
// of the other warpgroup. What is not finite, or far, is marked and computed again by the program of flash.
#pragma once

#if defined(__CUDACC__)

#include "kernels/flash/register_form.hpp"
#include "kernels/tile/warpgroup.hpp"

namespace nbx::flash {

inline constexpr int warpgroup_rows = 64, warpgroup_takers = 2, warpgroup_stages = 4;
inline constexpr int warpgroup_threads = (1 + warpgroup_takers) * 128;
static_assert(warpgroup_takers * warpgroup_rows == register_rows);

template <class T>
struct WarpgroupProblem {
  RegisterProblem<T> p;  // with a mark for each warpgroup_rows queries
  unsigned items;        // (batch, head, tile of queries)
  unsigned marks;        // of a head
  CUtensorMap k, v;      // (B, Hk, Tk, D or Dv), in boxes of register_keys keys and 64 columns
};

/// Shared memory: tiles of K and V on their way and in use, and the barriers that say which.
template <int Dim>
struct Stages {
  static constexpr unsigned box = register_keys * 128;  // bytes
  static constexpr unsigned tile = Dim / 64 * box;
  static constexpr unsigned bytes = 2 * warpgroup_stages * tile + 4 * warpgroup_stages * 8;
  static constexpr unsigned alignment = 1024;  // that of the swizzle

  unsigned at;

  NBX_DEVICE unsigned k(unsigned stage) const { return at + stage * tile; }
  NBX_DEVICE unsigned v(unsigned stage) const { return at + (warpgroup_stages + stage) * tile; }
  NBX_DEVICE tile::Barrier k_there(unsigned stage) const { return barrier(0, stage); }
  NBX_DEVICE tile::Barrier v_there(unsigned stage) const { return barrier(1, stage); }
  NBX_DEVICE tile::Barrier k_free(unsigned stage) const { return barrier(2, stage); }
  NBX_DEVICE tile::Barrier v_free(unsigned stage) const { return barrier(3, stage); }

  NBX_DEVICE void begin() const {
    for (unsigned i = 0; i < warpgroup_stages; ++i) {
      k_there(i).begin(1);
      v_there(i).begin(1);
      k_free(i).begin(4 * warpgroup_takers);  // a warp each
      v_free(i).begin(4 * warpgroup_takers);
    }
    tile::publish_barriers();
  }

 private:
  NBX_DEVICE tile::Barrier barrier(unsigned kind, unsigned stage) const {
    return {at + 2 * warpgroup_stages * tile + (kind * warpgroup_stages + stage) * 8};
  }
};

/// The how many-th tile of a block, over all its items: its stage, and the parity of the phase in which it is there.
struct Turn {
  unsigned of_all;

  NBX_DEVICE unsigned stage() const { return of_all % warpgroup_stages; }
  NBX_DEVICE unsigned parity() const { return of_all / warpgroup_stages % 2; }
};

/// A tile of queries, and how many tiles of keys its rows see.
template <class T>
struct WarpgroupItem {
  QueryTile place;
  int first, tiles;

  NBX_DEVICE static WarpgroupItem of(const WarpgroupProblem<T>& problem, unsigned index) {
    const QueryTile place = QueryTile::of(problem.p, index, problem.items / problem.p.query_tiles);
    const int first = static_cast<int>(place.tile) * register_rows;
    return {place, first, tiles_of(problem.p.a, first, register_rows)};
  }
  NBX_DEVICE static int tiles_of(const Operands<T>& a, std::int64_t first, std::int64_t rows) {
    const std::int64_t last = first + rows < a.Tq ? first + rows : a.Tq;
    return last <= first ? 0 : static_cast<int>(tile::ceil_div(Rules::visible(a, last - 1), register_keys));
  }
};

/// A warpgroup that attends.
template <class T, int Dim>
struct WarpgroupForm {
  static constexpr int key_blocks = register_keys / 8;  // of S
  static constexpr int column_blocks = Dim / 8;         // of O
  using Scores = float[key_blocks][4];
  using Weights = std::uint32_t[key_blocks / 2][4];
  using Memory = Stages<Dim>;

  const WarpgroupProblem<T>& problem;
  const Memory memory;
  int first = 0;        // query of the warpgroup
  int seen_by_all = 0;  // keys

  std::uint32_t q[Dim / 16][4];
  float o[column_blocks][4];
  FragmentRows rows;

  NBX_DEVICE WarpgroupForm(const WarpgroupProblem<T>& of, Memory in) : problem(of), memory(in) {}

  /// This warp is done with what the barrier guards.
  NBX_DEVICE static void let_go(tile::Barrier barrier) {
    if (FragmentRows::lane() == 0) barrier.arrive();
  }
  NBX_DEVICE int row_of(int half) const {
    return first + static_cast<int>(tile::thread() / 32 % 4) * 16 + FragmentRows::lane() / 4 + half * 8;
  }

  /// From query `query` of the head whose rows begin at `from`.
  NBX_DEVICE void begin(const T* from, int query) {
    const Operands<T>& a = problem.p.a;
    first = query;
    seen_by_all = static_cast<int>(Rules::visible(a, query));
    rows.begin();
    NBX_UNROLL
    for (int half = 0; half < 2; ++half) {
      const std::int64_t row = row_of(half);
      const T* const place = from + row * a.q_at.stride[2] + FragmentRows::lane() % 4 * 2;
      NBX_UNROLL
      for (int d = 0; d < Dim / 8; ++d) {  // eight columns
        const bool there = row < a.Tq && d * 8 < a.D;
        q[d / 2][d % 2 * 2 + half] = there ? *reinterpret_cast<const std::uint32_t*>(place + d * 8) : 0U;
      }
    }
    NBX_UNROLL
    for (int c = 0; c < column_blocks; ++c) {
      NBX_UNROLL
      for (int e = 0; e < 4; ++e) o[c][e] = 0.0F;
    }
  }

  /// Sends s ← Q·Kᵀ off.
  NBX_DEVICE void ask_scores(Scores& s, Turn turn) {
    memory.k_there(turn.stage()).wait(turn.parity());
    const std::uint64_t k = tile::operand_at(memory.k(0), 16) + turn.stage() * (Memory::tile >> 4);
    tile::hold(s);
    tile::open_products();
    NBX_UNROLL
    for (int d = 0; d < Dim / 16; ++d) {
      const unsigned further = static_cast<unsigned>(d) / 4 * Memory::box + static_cast<unsigned>(d) % 4 * 32;
      tile::warpgroup_product<T, false>(s, q[d], k + (further >> 4), d > 0);
    }
    tile::close_products();
  }

  /// Sends o ← o + P·V off.
  NBX_DEVICE void ask_values(const Weights& p, Turn turn) {
    const std::uint64_t v = tile::operand_at(memory.v(0), Memory::box) + turn.stage() * (Memory::tile >> 4);
    tile::hold(o);
    tile::open_products();
    NBX_UNROLL
    for (int j = 0; j < key_blocks / 2; ++j) {
      tile::warpgroup_product<T, true>(o, p[j], v + static_cast<unsigned>(j) * (16 * 128 >> 4), true);
    }
    tile::close_products();
  }

  /// The weights w of scores s of the keys from `key` on; l takes them. factor: what O is to be multiplied by.
  NBX_DEVICE void weigh(Scores& s, Scores& w, int key, float (&factor)[2]) {
    if (key + register_keys > seen_by_all) [[unlikely]] {
      NBX_UNROLL
      for (int half = 0; half < 2; ++half) {
        FragmentRows::mask(s, half, static_cast<int>(Rules::visible(problem.p.a, row_of(half)) - key));
      }
    }
    const Exponents& by = problem.p.by;
    rows.move(s, by, factor);
    const WholeShift row[2] = {rows.shift(0, by), rows.shift(1, by)};
    float part[2];
    NBX_UNROLL
    for (int j = 0; j < key_blocks; ++j) {
      NBX_UNROLL
      for (int half = 0; half < 2; ++half) {
        const float low = near_weight(s[j][2 * half], row[half], by.c);
        const float high = near_weight(s[j][2 * half + 1], row[half], by.c);
        part[half] = j == 0 ? low + high : part[half] + (low + high);
        w[j][2 * half] = low;
        w[j][2 * half + 1] = high;
      }
    }
    NBX_UNROLL
    for (int half = 0; half < 2; ++half) rows.sum[half] += part[half];
  }

  /// Weights as an operand. Those before may still be read, so this waits until O is there.
  NBX_DEVICE static void narrow(Scores& w, Weights& p) {
    tile::hold(w);
    NBX_UNROLL
    for (int j = 0; j < key_blocks; ++j) {
      NBX_UNROLL
      for (int half = 0; half < 2; ++half) {
        p[j / 2][j % 2 * 2 + half] = tile::narrowed_pair<T>(w[j][2 * half], w[j][2 * half + 1]);
      }
    }
  }

  /// One tile of keys, whose scores are in `s`. On return its values are in the matrix units, and if there are `More`
  /// tiles `s` has the scores of the next.
  template <bool More>
  NBX_DEVICE void step(Scores& s, int key, Turn turn, bool is_first) {
    const Turn before{turn.of_all - 1}, after{turn.of_all + 1};
    float factor[2];
    Scores w;
    weigh(s, w, key, factor);
    tile::hold(w);
    memory.v_there(turn.stage()).wait(turn.parity());
    tile::wait_for_products<0>();
    if (!is_first) let_go(memory.v_free(before.stage()));
    tile::hold(o);
    FragmentRows::rescale(o, factor);
    Weights p;
    narrow(w, p);
    if constexpr (More) ask_scores(s, after);
    ask_values(p, turn);
    if constexpr (More) {
      tile::wait_for_products<1>();
      tile::hold(s);
      let_go(memory.k_free(after.stage()));
    }
  }

  /// The first `tiles` tiles of keys, of which the first is `turn`.
  NBX_DEVICE void attend(int tiles, Turn turn) {
    if (tiles == 0) return;
    Scores s;
    ask_scores(s, turn);
    tile::wait_for_products<0>();
    tile::hold(s);
    let_go(memory.k_free(turn.stage()));
    const int last = (tiles - 1) * register_keys;
    int key = 0;
    for (; key < last; key += register_keys, ++turn.of_all) step<true>(s, key, turn, key == 0);
    step<false>(s, key, turn, key == 0);
    tile::wait_for_products<0>();
    tile::hold(o);
    let_go(memory.v_free(turn.stage()));
  }

  /// A tile that only the other warpgroup sees.
  NBX_DEVICE void pass(Turn turn) const {
    memory.k_there(turn.stage()).wait(turn.parity());
    let_go(memory.k_free(turn.stage()));
    memory.v_there(turn.stage()).wait(turn.parity());
    let_go(memory.v_free(turn.stage()));
  }
};

/// The warpgroup that asks for K and V: one thread does.
template <class T, int Dim>
NBX_DEVICE void ask_for_tiles(const WarpgroupProblem<T>& problem, Stages<Dim> memory) {
  Turn turn{0};
  for (unsigned index = blockIdx.x; index < problem.items; index += gridDim.x) {
    const auto item = WarpgroupItem<T>::of(problem, index);
    const auto head = static_cast<int>(item.place.kv_head), batch = static_cast<int>(item.place.b);
    for (int j = 0; j < item.tiles; ++j, ++turn.of_all) {
      const unsigned stage = turn.stage();
      const auto ask = [&](tile::Barrier free, tile::Barrier there, unsigned to, const CUtensorMap& map) {
        free.wait(turn.parity() ^ 1U);
        there.arrive_for(Stages<Dim>::tile);
        for (int c = 0; c < Dim / 64; ++c) {
          tile::copy_box(to + static_cast<unsigned>(c) * Stages<Dim>::box, map, c * 64, j * register_keys, head, batch,
                         there);
        }
      };
      ask(memory.k_free(stage), memory.k_there(stage), memory.k(stage), problem.k);
      ask(memory.v_free(stage), memory.v_there(stage), memory.v(stage), problem.v);
    }
  }
}

/// What warpgroup `group` of those that attend does.
template <class T, int Dim>
NBX_DEVICE void attend_to_tiles(const WarpgroupProblem<T>& problem, Stages<Dim> memory, unsigned group) {
  const Operands<T>& a = problem.p.a;
  WarpgroupForm<T, Dim> form(problem, memory);
  Turn turn{0};
  for (unsigned index = blockIdx.x; index < problem.items; index += gridDim.x) {
    const auto item = WarpgroupItem<T>::of(problem, index);
    const QueryTile& at = item.place;
    const int first = item.first + static_cast<int>(group) * warpgroup_rows;
    const int tiles = WarpgroupItem<T>::tiles_of(a, first, warpgroup_rows);
    form.begin(a.q + math::offset(a.q_at, at.b, at.head, 0), first);
    form.attend(tiles, turn);
    for (int j = tiles; j < item.tiles; ++j) form.pass(Turn{turn.of_all + static_cast<unsigned>(j)});
    turn.of_all += static_cast<unsigned>(item.tiles);
    bool again = false;
    NBX_UNROLL
    for (int half = 0; half < 2; ++half) {
      const bool marked = form.rows.store(a, form.o, half, at.b, at.head, form.row_of(half));
      again = again || marked;
    }
    again = tile::any_of_warpgroup(1 + group, again);
    const unsigned mark = static_cast<unsigned>(first) / warpgroup_rows;
    if (threadIdx.x % 128 == 0 && mark < problem.marks) {
      problem.p.marks[at.of_all * problem.marks + mark] = again ? 1U : 0U;
    }
  }
}

template <class T, int Dim>
__global__ void __launch_bounds__(warpgroup_threads, 1)
    warpgroup_entry(const __grid_constant__ WarpgroupProblem<T> problem) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ unsigned char shared[];
  constexpr unsigned alignment = Stages<Dim>::alignment;
  const auto start = static_cast<unsigned>(__cvta_generic_to_shared(shared));
  const Stages<Dim> memory{(start + alignment - 1) / alignment * alignment};
  if (threadIdx.x == 0) memory.begin();
  __syncthreads();
  const unsigned group = __shfl_sync(0xFFFFFFFFU, threadIdx.x / 128, 0);  // alike in a warp, and known to be
  if (group == 0) {
    tile::keep_registers<24>();
    if (threadIdx.x == 0) ask_for_tiles(problem, memory);
  } else {
    tile::take_registers<240>();
    attend_to_tiles(problem, memory, group - 1);
  }
#endif
}

/// Launches warpgroup_entry. Returns nullptr, or the runtime's words for what failed.
template <class T, int Dim>
const char* launch_warpgroup_form(const WarpgroupProblem<T>& problem, void* stream) {
  constexpr int bytes = Stages<Dim>::bytes + Stages<Dim>::alignment;
  const auto entry = warpgroup_entry<T, Dim>;
  int device = 0, multiprocessors = 0;
  cudaError_t status = cudaGetDevice(&device);
  if (status == cudaSuccess) {
    status = cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
  }
  if (status == cudaSuccess) status = cudaFuncSetAttribute(entry, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  if (status == cudaSuccess) {
    const auto most = static_cast<unsigned>(multiprocessors);
    const unsigned blocks = problem.items < most ? problem.items : most;
    entry<<<blocks, warpgroup_threads, bytes, static_cast<cudaStream_t>(stream)>>>(problem);
    status = cudaGetLastError();
  }
  return status == cudaSuccess ? nullptr : cudaGetErrorString(status);
}

}  // namespace nbx::flash

#endif
