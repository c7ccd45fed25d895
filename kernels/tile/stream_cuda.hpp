// The CUDA forms of stream.hpp. A half-warp holds one row of K or V, eight elements a thread and piece of 128; four
// rows of K are in flight at a time, and of V as many as the loop is unrolled to.
#pragma once

#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "kernels/tile/cuda_block.hpp"
#include "kernels/tile/number.hpp"

namespace nbx::tile::detail {

inline constexpr int piece = 8;       // elements of a row that a thread holds together
inline constexpr int row_lanes = 16;  // threads that hold a row
inline constexpr unsigned all_lanes = 0xFFFFFFFFU;

/// Eight elements as they lie in memory.
template <class T>
struct alignas(piece * sizeof(T) < 16 ? piece * sizeof(T) : 16) Piece {
  std::uint32_t word[piece * sizeof(T) / 4];
};

/// Element e of a piece. As decode(), but that a NaN keeps its payload: every NaN counts as one value.
template <class T>
__device__ __forceinline__ float element(const Piece<T>& of, int e) {
  if constexpr (std::is_same_v<T, float>) {
    return __uint_as_float(of.word[e]);
  } else if constexpr (std::is_same_v<T, bf16>) {
    const std::uint32_t pair = of.word[e / 2];
    return __uint_as_float(e % 2 == 0 ? pair << 16 : pair & 0xFFFF0000U);
  } else if constexpr (std::is_same_v<T, f16>) {
    const std::uint32_t pair = of.word[e / 2];
    return __half2float(__ushort_as_half(static_cast<unsigned short>(e % 2 == 0 ? pair & 0xFFFFU : pair >> 16)));
  } else {
    const std::uint32_t byte = of.word[e / 4] >> (e % 4 * 8) & 0xFFU;
    return __half2float(__half(__nv_cvt_fp8_to_halfraw(static_cast<__nv_fp8_storage_t>(byte), __NV_E4M3)));
  }
}

/// The piece from column `first` on, +0 where the row of whole pieces has ended.
template <class T>
__device__ __forceinline__ Piece<T> load_piece(const T* row, int first, int columns) {
  if (first < columns) return *reinterpret_cast<const Piece<T>*>(row + first);
  return Piece<T>{};
}
/// One element of a row of any layout.
template <class T>
__device__ __forceinline__ float load_element(const T* row, int column, int columns, std::int64_t step) {
  return column < columns ? decode(row[column * step]) : 0.0F;
}

/// The compiler may not unpack `of` before this point: for all heads at once that takes more registers than it saves.
template <class T>
__device__ __forceinline__ void keep_packed(Piece<T>& of) {
#pragma unroll
  for (std::uint32_t& word : of.word) asm volatile("" : "+r"(word));
}

/// Whether all rows may be read in whole pieces: contiguous, whole and aligned. For all threads of the block alike.
template <class Row>
__device__ __forceinline__ bool whole_pieces(const Row& row, int keys, int columns, std::int64_t step) {
  using T = std::remove_cv_t<std::remove_pointer_t<decltype(row(0))>>;
  bool whole = step == 1 && columns % piece == 0;
  for (int j = static_cast<int>(threadIdx.x); j < keys; j += static_cast<int>(blockDim.x)) {
    whole = whole && reinterpret_cast<std::uintptr_t>(row(j)) % sizeof(Piece<T>) == 0;
  }
  return __syncthreads_and(whole ? 1 : 0) != 0;
}

/// The sum of a thread's eight chains: neighbours, three times.
__device__ __forceinline__ float sum_of_neighbours(const float (&chain)[piece]) {
  return ((chain[0] + chain[1]) + (chain[2] + chain[3])) + ((chain[4] + chain[5]) + (chain[6] + chain[7]));
}

/// Eight elements of a row of q.
struct Query {
  float item[piece];
};
__device__ __forceinline__ Query load_query(const float* at) {
  const float4 low = *reinterpret_cast<const float4*>(at), high = *reinterpret_cast<const float4*>(at + 4);
  return {{low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w}};
}

/// Adds up the sixteen sums of four keys in halves. Threads 8 apart share the keys: each goes on with two of the four,
/// then with one. The first of four threads stores it.
__device__ __forceinline__ void store_scores(Tile<float> out, int g, int first, int keys, int lane,
                                             const float (&sum)[4]) {
  const bool upper = (lane & 8) != 0;
  float a = upper ? sum[2] : sum[0], b = upper ? sum[3] : sum[1];
  a += __shfl_xor_sync(all_lanes, upper ? sum[0] : sum[2], 8);
  b += __shfl_xor_sync(all_lanes, upper ? sum[1] : sum[3], 8);
  const bool second = (lane & 4) != 0;
  float one = second ? b : a;
  one += __shfl_xor_sync(all_lanes, second ? a : b, 4);
  one += __shfl_xor_sync(all_lanes, one, 2);
  one += __shfl_xor_sync(all_lanes, one, 1);
  const int r = (upper ? 2 : 0) + (second ? 1 : 0);
  if ((lane & 3) == 0 && first + r < keys) out(g, first + r) = one;
}

/// Each half-warp of the block takes the next four keys, until there are none. Rows of up to two pieces are held for
/// all heads; longer ones, and rows of other layouts, are read again for each.
template <int Pieces, bool Whole, class Row>
__device__ void key_scores_of(Tile<float> out, Tile<float> q, int heads, int keys, int depth, std::int64_t step,
                              const Row& row) {
  constexpr int together = 4;
  constexpr bool holds = Whole && Pieces <= 2;
  using T = std::remove_cv_t<std::remove_pointer_t<decltype(row(0))>>;
  const int half = static_cast<int>(threadIdx.x) / row_lanes, halves = static_cast<int>(blockDim.x) / row_lanes;
  const int lane = static_cast<int>(threadIdx.x) % row_lanes;
  const int rounds = static_cast<int>(ceil_div(keys, together * halves));
#pragma unroll 1
  for (int round = 0; round < rounds; ++round) {
    const int first = (round * halves + half) * together;
    // Rows behind the last are read as the last, and their scores are dropped.
    const T* from[together];
#pragma unroll
    for (int r = 0; r < together; ++r) from[r] = row(first + r < keys ? first + r : keys - 1);
    Piece<T> key[together][holds ? Pieces : 1];
    if constexpr (holds) {
#pragma unroll
      for (int r = 0; r < together; ++r) {
#pragma unroll
        for (int n = 0; n < Pieces; ++n) key[r][n] = load_piece(from[r], n * 128 + lane * piece, depth);
      }
    }
#pragma unroll 1
    for (int g = 0; g < heads; ++g) {
      float chain[together][piece] = {};
#pragma unroll
      for (int n = 0; n < Pieces; ++n) {
        const int column = n * 128 + lane * piece;
        const Query query = load_query(q.row(g) + column);
#pragma unroll
        for (int r = 0; r < together; ++r) {
          if constexpr (Whole) {
            if constexpr (!holds) key[r][0] = load_piece(from[r], column, depth);
            Piece<T>& of = key[r][holds ? n : 0];
            keep_packed(of);
#pragma unroll
            for (int e = 0; e < piece; ++e) chain[r][e] = fma(query.item[e], element(of, e), chain[r][e]);
          } else {
#pragma unroll
            for (int e = 0; e < piece; ++e) {
              chain[r][e] = fma(query.item[e], load_element(from[r], column + e, depth, step), chain[r][e]);
            }
          }
        }
      }
      const float sum[together] = {sum_of_neighbours(chain[0]), sum_of_neighbours(chain[1]),
                                   sum_of_neighbours(chain[2]), sum_of_neighbours(chain[3])};
      store_scores(out, g, first, keys, lane, sum);
    }
  }
}

template <class Block, class Row>
__device__ void key_scores(Block&, Tile<float> out, Tile<float> q, int heads, int keys, int depth, std::int64_t step,
                           const Row& row) {
  if (whole_pieces(row, keys, depth, step)) {
    if (depth <= 128) return key_scores_of<1, true>(out, q, heads, keys, depth, step, row);
    if (depth <= 256) return key_scores_of<2, true>(out, q, heads, keys, depth, step, row);
    return key_scores_of<4, true>(out, q, heads, keys, depth, step, row);
  }
  if (depth <= 128) return key_scores_of<1, false>(out, q, heads, keys, depth, step, row);
  if (depth <= 256) return key_scores_of<2, false>(out, q, heads, keys, depth, step, row);
  key_scores_of<4, false>(out, q, heads, keys, depth, step, row);
}

/// Heads g … g + Heads − 1. Warp w holds the chains w and w + 4, one a half.
template <int Heads, int Pieces, bool Whole, class Row>
__device__ void weigh(Tile<float> scratch, Tile<float> weights, int g, int keys, int columns, std::int64_t step,
                      const Row& row) {
  using T = std::remove_cv_t<std::remove_pointer_t<decltype(row(0))>>;
  constexpr int together = !Whole ? 1 : Pieces == 1 ? 4 : Pieces == 2 ? 2 : 1;  // keys in flight
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % row_lanes;
  const int chain = warp + ((threadIdx.x & 16U) != 0 ? 4 : 0);
  float sum[Heads][Pieces][piece] = {};
#pragma unroll 1
  for (int first = chain; first < keys; first += 8 * together) {
    Piece<T> value[together][Pieces];
    if constexpr (Whole) {
#pragma unroll
      for (int t = 0; t < together; ++t) {
        const T* const from = row(first + 8 * t < keys ? first + 8 * t : first);
#pragma unroll
        for (int n = 0; n < Pieces; ++n) value[t][n] = load_piece(from, n * 128 + lane * piece, columns);
      }
    }
#pragma unroll
    for (int t = 0; t < together; ++t) {
      const int j = first + 8 * t;
      if (j >= keys) break;
      float weight[Heads];
#pragma unroll
      for (int h = 0; h < Heads; ++h) weight[h] = weights(g + h, j);
#pragma unroll
      for (int n = 0; n < Pieces; ++n) {
#pragma unroll
        for (int e = 0; e < piece; ++e) {
          float v = 0.0F;
          if constexpr (Whole) {
            v = element(value[t][n], e);
          } else {
            v = load_element(row(j), n * 128 + lane * piece + e, columns, step);
          }
#pragma unroll
          for (int h = 0; h < Heads; ++h) {
            if (is_term(weight[h])) sum[h][n][e] = fma(weight[h], v, sum[h][n][e]);
          }
        }
      }
    }
  }
  __syncwarp();
#pragma unroll
  for (int h = 0; h < Heads; ++h) {
#pragma unroll
    for (int n = 0; n < Pieces; ++n) {
#pragma unroll
      for (int e = 0; e < piece; ++e) {
        const float both = sum[h][n][e] + __shfl_xor_sync(all_lanes, sum[h][n][e], 16);
        const int c = n * 128 + lane * piece + e;
        if (chain < 4 && c < columns) scratch(4 * (g + h) + warp, c) = both;
      }
    }
  }
}

/// As many heads at a time as 32 sums a thread allow: more would leave too few threads on a multiprocessor.
template <int Pieces, bool Whole, class Row>
__device__ void weighted_values_of(Tile<float> scratch, Tile<float> weights, int heads, int keys, int columns,
                                   std::int64_t step, const Row& row) {
  int g = 0;
  if constexpr (Pieces == 1) {
    for (; g + 4 <= heads; g += 4) weigh<4, Pieces, Whole>(scratch, weights, g, keys, columns, step, row);
  }
  if constexpr (Pieces <= 2) {
    for (; g + 2 <= heads; g += 2) weigh<2, Pieces, Whole>(scratch, weights, g, keys, columns, step, row);
  }
  for (; g < heads; ++g) weigh<1, Pieces, Whole>(scratch, weights, g, keys, columns, step, row);
}

template <class Block, class Row>
__device__ void weighted_values(Block&, Tile<float> scratch, Tile<float> weights, int heads, int keys, int columns,
                                std::int64_t step, const Row& row) {
  if (whole_pieces(row, keys, columns, step)) {
    if (columns <= 128) return weighted_values_of<1, true>(scratch, weights, heads, keys, columns, step, row);
    if (columns <= 256) return weighted_values_of<2, true>(scratch, weights, heads, keys, columns, step, row);
    return weighted_values_of<4, true>(scratch, weights, heads, keys, columns, step, row);
  }
  if (columns <= 128) return weighted_values_of<1, false>(scratch, weights, heads, keys, columns, step, row);
  if (columns <= 256) return weighted_values_of<2, false>(scratch, weights, heads, keys, columns, step, row);
  weighted_values_of<4, false>(scratch, weights, heads, keys, columns, step, row);
}

}  // namespace nbx::tile::detail
