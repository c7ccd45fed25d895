// CUDA alone: flash.mma with scores, weights and O in the fragments of m16n8k16, for rows of up to 128 16-bit elements.
// The bits are those of the program of flash under WholeRules, for every problem that `takes` says yes to: a tile of
// keys is the same 64, products chain in the same order, and what else is computed are the functions of whole.hpp.
//
// A warp has 32 rows of queries, a block four warps; K and V of the next tile of keys come while this one is computed.
// Where something is not finite, or an exponent is far, the block leaves a mark, and the program of flash computes its
// rows again: what hidden or infinite values reach is decided there alone.
#pragma once

#if defined(__CUDACC__)

#include "kernels/flash/fragment_rows.hpp"
#include "kernels/unit/instruction.hpp"

namespace nbx::flash {

template <class T>
struct RegisterProblem {
  Operands<T> a;
  Exponents by;
  std::uint32_t* marks;  // (batch, head, tile of queries): 1 where its rows are to be computed again
  unsigned query_tiles;  // of register_rows
};

/// What a block computes. Under causality those that see the most keys start first, of all heads.
struct QueryTile {
  std::int64_t b, head, kv_head;
  unsigned tile;    // of queries
  unsigned of_all;  // b · H + head

  /// Number `index` of the tiles of `heads` heads.
  template <class T>
  NBX_DEVICE static QueryTile of(const RegisterProblem<T>& p, unsigned index, unsigned heads) {
    const bool alike = p.a.causal == pack::Causal::none;
    const unsigned of_all = alike ? index / p.query_tiles : index % heads;
    const unsigned tile = alike ? index % p.query_tiles : p.query_tiles - 1 - index / heads;
    const std::int64_t head = of_all % p.a.H;
    return {of_all / p.a.H, head, head / p.a.group, tile, of_all};
  }
};

inline constexpr int register_rows = 128, register_keys = 64, register_threads = 128;

template <int Dim>
inline constexpr int register_bytes = (register_rows + 4 * register_keys) * Dim * 2;

template <class Unit, class T, int Dim>
struct RegisterForm {
  static constexpr int blocks_of_rows = 2;  // of 16, in a warp
  static constexpr int warp_rows = 16 * blocks_of_rows;
  static constexpr int key_blocks = register_keys / 8;  // of S
  static constexpr int column_blocks = Dim / 8;         // of O
  using Shared = tile::SharedRows<Dim>;

  const RegisterProblem<T>& p;
  int first;  // query of the block

  float s[blocks_of_rows][key_blocks][4];
  float o[blocks_of_rows][column_blocks][4];
  FragmentRows rows[blocks_of_rows];
  bool marked = false;

  NBX_DEVICE static QueryTile place_of(const RegisterProblem<T>& p, unsigned index) {
    return QueryTile::of(p, index, gridDim.x / p.query_tiles);
  }

  NBX_DEVICE RegisterForm(const RegisterProblem<T>& problem, unsigned index) : p(problem) {
    first = static_cast<int>(place_of(p, index).tile) * register_rows;
    NBX_UNROLL
    for (int i = 0; i < blocks_of_rows; ++i) {
      rows[i].begin();
      NBX_UNROLL
      for (int c = 0; c < column_blocks; ++c) {
        NBX_UNROLL
        for (int e = 0; e < 4; ++e) o[i][c][e] = 0.0F;
      }
    }
  }

  /// Rows from `from` on, of `rows` that there are, to shared memory; what lies beyond them and `columns` is 0.
  template <int Rows>
  NBX_DEVICE static void copy_rows(Shared to, const T* from, std::int64_t stride, int rows, int columns) {
    constexpr int at_once = register_threads / Shared::pieces;
    const int piece = static_cast<int>(tile::thread()) % Shared::pieces;
    const int row = static_cast<int>(tile::thread()) / Shared::pieces;
    const T* place = from + row * stride + piece * 8;
    const unsigned first_piece = to.piece(row, piece);  // of a row further on by a multiple of 8: as far on
    NBX_UNROLL
    for (int r = 0; r < Rows; r += at_once) {
      tile::copy_piece(first_piece + r * Shared::row_bytes, place, row + r < rows && piece * 8 < columns);
      place += at_once * stride;
    }
  }

  NBX_DEVICE static int row_of(unsigned thread, int i, int half) {
    return static_cast<int>(thread / 32 * warp_rows + thread % 32 / 4) + i * 16 + half * 8;
  }

  /// From here on no row of this warp sees a key.
  NBX_DEVICE int seen_by_warp() const {
    return static_cast<int>(Rules::visible(p.a, first + row_of(tile::thread() | 31U, blocks_of_rows - 1, 1)));
  }

  /// s ← Q·Kᵀ.
  NBX_DEVICE void scores(Shared q, Shared k) {
    const unsigned thread = tile::thread();
    const int lane = static_cast<int>(thread % 32);
    NBX_UNROLL
    for (int i = 0; i < blocks_of_rows; ++i) {
      NBX_UNROLL
      for (int j = 0; j < key_blocks; ++j) {
        NBX_UNROLL
        for (int e = 0; e < 4; ++e) s[i][j][e] = 0.0F;
      }
    }
    const unsigned q_at = q.piece(thread / 32 * warp_rows + lane % 16, lane / 16);
    const unsigned k_at = k.piece(lane % 8 + lane / 16 * 8, lane / 8 % 2);
    NBX_UNROLL
    for (int d = 0; d < Dim / 16; ++d) {
      std::uint32_t of_q[blocks_of_rows][4];
      NBX_UNROLL
      for (int i = 0; i < blocks_of_rows; ++i) {
        tile::load_fragments(of_q[i], Shared::further(q_at, 2 * d) + i * 16 * Shared::row_bytes);
      }
      NBX_UNROLL
      for (int j = 0; j < key_blocks; j += 2) {
        std::uint32_t of_k[4];
        tile::load_fragments(of_k, Shared::further(k_at, 2 * d) + j * 8 * Shared::row_bytes);
        NBX_UNROLL
        for (int i = 0; i < blocks_of_rows; ++i) {
          unit::detail::mma(Unit{}, s[i][j], of_q[i], of_k);
          unit::detail::mma(Unit{}, s[i][j + 1], of_q[i], of_k + 2);
        }
      }
    }
  }

  /// Takes away what a row does not see of the keys from `key` on.
  NBX_DEVICE void mask(int key) {
    const unsigned thread = tile::thread();
    NBX_UNROLL
    for (int i = 0; i < blocks_of_rows; ++i) {
      NBX_UNROLL
      for (int half = 0; half < 2; ++half) {
        FragmentRows::mask(s[i], half, static_cast<int>(Rules::visible(p.a, first + row_of(thread, i, half)) - key));
      }
    }
  }

  /// Moves the shifts on; l and O follow where one has moved.
  NBX_DEVICE void move_shifts() {
    NBX_UNROLL
    for (int i = 0; i < blocks_of_rows; ++i) {
      float factor[2];
      rows[i].move(s[i], p.by, factor);
      FragmentRows::rescale(o[i], factor);
    }
  }

  /// The weights of keys 8j + 2t and 8j + 2t + 1 of a row, as an operand; `part` takes their sum.
  NBX_DEVICE std::uint32_t weigh(int i, int j, int half, const WholeShift& row, float& part) const {
    const float* const pair = s[i][j] + 2 * half;
    const float low = near_weight(pair[0], row, p.by.c);
    const float high = near_weight(pair[1], row, p.by.c);
    part = j == 0 ? low + high : part + (low + high);
    return tile::narrowed_pair<T>(low, high);
  }

  /// Weights, their sums, and o ← o + P·V, 16 keys at a time; the weights of the next 16 are computed between the
  /// products of these.
  NBX_DEVICE void values(Shared v) {
    const unsigned thread = tile::thread();
    const int lane = static_cast<int>(thread % 32);
    constexpr int weights = 4 * blocks_of_rows;  // registers of an operand of 16 keys
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 900
    constexpr bool between = true;
#else
    constexpr bool between = false;  // the registers of other architectures do not suffice
#endif
    WholeShift row[blocks_of_rows][2];
    float part[blocks_of_rows][2];
    std::uint32_t of_p[2][blocks_of_rows][4];
    NBX_UNROLL
    for (int i = 0; i < blocks_of_rows; ++i) {
      NBX_UNROLL
      for (int half = 0; half < 2; ++half) row[i][half] = rows[i].shift(half, p.by);
    }
    const auto weigh_one = [&](int j, int which) {
      const int i = which / 4, side = which / 2 % 2, half = which % 2;
      of_p[j / 2 % 2][i][2 * side + half] = weigh(i, j + side, half, row[i][half], part[i][half]);
    };
    if (between) {
      NBX_UNROLL
      for (int which = 0; which < weights; ++which) weigh_one(0, which);
    }
    const unsigned v_at = v.piece(lane % 16, lane / 16);
    NBX_UNROLL
    for (int j = 0; j < key_blocks; j += 2) {
      if (!between) {
        NBX_UNROLL
        for (int which = 0; which < weights; ++which) weigh_one(j, which);
      }
      NBX_UNROLL
      for (int c = 0; c < column_blocks; c += 2) {
        std::uint32_t of_v[4];
        tile::load_fragments_transposed(of_v, Shared::further(v_at, c) + j * 8 * Shared::row_bytes);
        NBX_UNROLL
        for (int i = 0; i < blocks_of_rows; ++i) {
          unit::detail::mma(Unit{}, o[i][c], of_p[j / 2 % 2][i], of_v);
          unit::detail::mma(Unit{}, o[i][c + 1], of_p[j / 2 % 2][i], of_v + 2);
        }
        if (between && j + 2 < key_blocks) {
          NBX_UNROLL
          for (int which = c * weights / column_blocks; which < (c + 2) * weights / column_blocks; ++which) {
            weigh_one(j + 2, which);
          }
        }
      }
    }
    NBX_UNROLL
    for (int i = 0; i < blocks_of_rows; ++i) {
      NBX_UNROLL
      for (int half = 0; half < 2; ++half) rows[i].sum[half] += part[i][half];
    }
  }

  NBX_DEVICE void store() {
    const unsigned thread = tile::thread();
    const QueryTile place = place_of(p, blockIdx.x);
    NBX_UNROLL
    for (int i = 0; i < blocks_of_rows; ++i) {
      NBX_UNROLL
      for (int half = 0; half < 2; ++half) {
        const bool again = rows[i].store(p.a, o[i], half, place.b, place.head, first + row_of(thread, i, half));
        marked = marked || again;
      }
    }
  }
};

template <class Unit, class T, int Dim>
__global__ void __launch_bounds__(register_threads, 2)
    register_entry(const __grid_constant__ RegisterProblem<T> problem) {
  extern __shared__ __align__(256) unsigned char memory[];
  using Form = RegisterForm<Unit, T, Dim>;
  using Shared = typename Form::Shared;
  const Operands<T>& a = problem.a;
  Form form(problem, blockIdx.x);
  const auto start = static_cast<unsigned>(__cvta_generic_to_shared(memory));
  constexpr unsigned tile = register_keys * Shared::row_bytes;
  const Shared q{start};
  const auto k = [=](int stage) { return Shared{start + register_rows * Shared::row_bytes + stage * tile}; };
  const auto v = [=](int stage) { return Shared{start + register_rows * Shared::row_bytes + (2 + stage) * tile}; };

  const std::int64_t last = form.first + register_rows < a.Tq ? form.first + register_rows : a.Tq;
  const int keys = static_cast<int>(Rules::visible(a, last - 1));
  const int seen_by_all = static_cast<int>(Rules::visible(a, form.first));
  const auto place = Form::place_of(problem, blockIdx.x);
  const auto columns = static_cast<int>(a.D), values = static_cast<int>(a.Dv);
  const T* k_from = a.k + math::offset(a.k_at, place.b, place.kv_head, 0);
  const T* v_from = a.v + math::offset(a.v_at, place.b, place.kv_head, 0);
  const auto copy = [&](int key, int stage) {
    Form::template copy_rows<register_keys>(k(stage), k_from, a.k_at.stride[2], keys - key, columns);
    Form::template copy_rows<register_keys>(v(stage), v_from, a.v_at.stride[2], keys - key, values);
    k_from += register_keys * a.k_at.stride[2];
    v_from += register_keys * a.v_at.stride[2];
  };
  Form::template copy_rows<register_rows>(q, a.q + math::offset(a.q_at, place.b, place.head, form.first),
                                          a.q_at.stride[2], static_cast<int>(a.Tq) - form.first, columns);
  copy(0, 0);
  tile::close_copies();
  int stage = 0;
  for (int key = 0; key < keys; key += register_keys, stage ^= 1) {
    tile::wait_for_copies<0>();
    __syncthreads();
    if (key + register_keys < keys) copy(key + register_keys, stage ^ 1);
    tile::close_copies();
    if (key >= form.seen_by_warp()) continue;  // no row of the warp would change
    form.scores(q, k(stage));
    if (key + register_keys > seen_by_all) form.mask(key);
    form.move_shifts();
    form.values(v(stage));
  }
  tile::wait_for_copies<0>();
  form.store();
  const bool again = __syncthreads_or(form.marked) != 0;
  const auto done = Form::place_of(problem, blockIdx.x);
  if (threadIdx.x == 0) problem.marks[done.of_all * problem.query_tiles + done.tile] = again ? 1U : 0U;
}

/// Returns nullptr, or the runtime's words for what failed.
template <class Unit, class T, int Dim>
const char* launch_register_form(const RegisterProblem<T>& problem, unsigned blocks, void* stream) {
  constexpr int bytes = register_bytes<Dim>;
  const auto entry = register_entry<Unit, T, Dim>;
  cudaError_t status = cudaFuncSetAttribute(entry, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  if (status == cudaSuccess) {
    entry<<<blocks, register_threads, bytes, static_cast<cudaStream_t>(stream)>>>(problem);
    status = cudaGetLastError();
  }
  return status == cudaSuccess ? nullptr : cudaGetErrorString(status);
}

}  // namespace nbx::flash

#endif
