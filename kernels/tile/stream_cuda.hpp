// The CUDA forms of stream.hpp. Eight threads hold a row of K and sixteen one of V, eight neighbouring elements a
// thread; a row longer than that lies in several such strips. While one round of rows is computed with, the next is on
// its way.
#pragma once

#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "kernels/tile/cuda_block.hpp"
#include "kernels/tile/number.hpp"

namespace nbx::tile::detail {

inline constexpr int piece = 8;         // elements of a row that a thread holds together
inline constexpr int key_lanes = 8;     // threads that hold a row of K, a strip of 64 each time
inline constexpr int value_lanes = 16;  // threads that hold a row of V, a strip of 128 each time
inline constexpr int key_strip = key_lanes * piece, value_strip = value_lanes * piece;
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

/// The sum of a thread's four chains: neighbours, twice.
__device__ __forceinline__ float sum_of_neighbours(const float (&chain)[4]) {
  return (chain[0] + chain[1]) + (chain[2] + chain[3]);
}

/// Eight elements of a row of q, where score_column() put them.
struct Query {
  float item[piece];
};
__device__ __forceinline__ Query load_query(const float* row, int strip, int lane) {
  const float* const at = row + strip * key_strip + lane * (piece / 2);
  const float4 low = *reinterpret_cast<const float4*>(at), high = *reinterpret_cast<const float4*>(at + key_strip / 2);
  return {{low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w}};
}

/// Adds up the eight sums of `Keys` keys in halves. Threads 4 apart share the keys, if there are several, and threads 2
/// apart if there are still: each goes on with one half of them. The first of the threads that end with a key stores
/// it.
template <int Keys>
__device__ __forceinline__ void store_scores(Tile<float> out, int g, int first, int keys, int lane,
                                             float (&sum)[Keys]) {
  int r = 0;
  float one = 0.0F;
  if constexpr (Keys == 4) {
    const bool upper = (lane & 4) != 0, second = (lane & 2) != 0;
    float a = upper ? sum[2] : sum[0], b = upper ? sum[3] : sum[1];
    a += __shfl_xor_sync(all_lanes, upper ? sum[0] : sum[2], 4);
    b += __shfl_xor_sync(all_lanes, upper ? sum[1] : sum[3], 4);
    one = second ? b : a;
    one += __shfl_xor_sync(all_lanes, second ? a : b, 2);
    r = (upper ? 2 : 0) + (second ? 1 : 0);
  } else if constexpr (Keys == 2) {
    const bool upper = (lane & 4) != 0;
    one = upper ? sum[1] : sum[0];
    one += __shfl_xor_sync(all_lanes, upper ? sum[0] : sum[1], 4);
    one += __shfl_xor_sync(all_lanes, one, 2);
    r = upper ? 1 : 0;
  } else {
    one = sum[0] + __shfl_xor_sync(all_lanes, sum[0], 4);
    one += __shfl_xor_sync(all_lanes, one, 2);
  }
  one += __shfl_xor_sync(all_lanes, one, 1);
  constexpr int sharing = key_lanes / Keys - 1;
  if ((lane & sharing) == 0 && first + r < keys) out(g, first + r) = one;
}

/// Rows of whole pieces, at most Strips · 64 long. Each eight threads of the block take the next few keys, until there
/// are none, and hold them for all heads.
template <int Strips, class Row>
__device__ void whole_key_scores(Tile<float> out, Tile<float> q, int heads, int keys, int depth, const Row& row) {
  constexpr int together = Strips <= 2 ? 4 : 2;
  using T = std::remove_cv_t<std::remove_pointer_t<decltype(row(0))>>;
  const int group = static_cast<int>(threadIdx.x) / key_lanes, groups = static_cast<int>(blockDim.x) / key_lanes;
  const int lane = static_cast<int>(threadIdx.x) % key_lanes;
  Piece<T> next[together][Strips];
  // Rows behind the last are read as the last, and their scores are dropped.
  const auto load = [&](int first) {
#pragma unroll
    for (int r = 0; r < together; ++r) {
      const T* const from = row(first + r < keys ? first + r : keys - 1);
#pragma unroll
      for (int n = 0; n < Strips; ++n) next[r][n] = load_piece(from, n * key_strip + lane * piece, depth);
    }
  };
  load(group * together);
#pragma unroll 1
  for (int start = 0; start < keys; start += together * groups) {
    const int first = start + group * together;
    float key[together][Strips][piece];
#pragma unroll
    for (int r = 0; r < together; ++r) {
#pragma unroll
      for (int n = 0; n < Strips; ++n) {
#pragma unroll
        for (int e = 0; e < piece; ++e) {
          key[r][n][e] = element(next[r][n], e);
          asm volatile("" : "+f"(key[r][n][e]));  // else the compiler unpacks it for each head anew
        }
      }
    }
    if (start + together * groups < keys) load(first + together * groups);
#pragma unroll 1
    for (int g = 0; g < heads; ++g) {
      float chain[together][4] = {};
#pragma unroll
      for (int n = 0; n < Strips; ++n) {
        if (n * key_strip >= depth) break;  // where q has no columns
        const Query query = load_query(q.row(g), n, lane);
#pragma unroll
        for (int r = 0; r < together; ++r) {
#pragma unroll
          for (int e = 0; e < piece; ++e) chain[r][e % 4] = fma(query.item[e], key[r][n][e], chain[r][e % 4]);
        }
      }
      float sum[together];
#pragma unroll
      for (int r = 0; r < together; ++r) sum[r] = sum_of_neighbours(chain[r]);
      store_scores<together>(out, g, first, keys, lane, sum);
    }
  }
}

/// Rows of any length and layout, one key at a time, read again for each head.
template <class Row>
__device__ void any_key_scores(Tile<float> out, Tile<float> q, int heads, int keys, int depth, std::int64_t step,
                               const Row& row) {
  const int group = static_cast<int>(threadIdx.x) / key_lanes, groups = static_cast<int>(blockDim.x) / key_lanes;
  const int lane = static_cast<int>(threadIdx.x) % key_lanes;
#pragma unroll 1
  for (int start = 0; start < keys; start += groups) {
    const int j = start + group;
    const auto* const from = row(j < keys ? j : keys - 1);
#pragma unroll 1
    for (int g = 0; g < heads; ++g) {
      float chain[4] = {};
#pragma unroll 1
      for (int n = 0; n * key_strip < depth; ++n) {
        const Query query = load_query(q.row(g), n, lane);
#pragma unroll
        for (int e = 0; e < piece; ++e) {
          const int column = n * key_strip + lane * piece + e;
          chain[e % 4] = fma(query.item[e], load_element(from, column, depth, step), chain[e % 4]);
        }
      }
      float sum[1] = {sum_of_neighbours(chain)};
      store_scores<1>(out, g, j, keys, lane, sum);
    }
  }
}

template <class Block, class Row>
__device__ void key_scores(Block&, Tile<float> out, Tile<float> q, int heads, int keys, int depth, std::int64_t step,
                           const Row& row) {
  if (depth > 4 * key_strip || !whole_pieces(row, keys, depth, step)) {
    return any_key_scores(out, q, heads, keys, depth, step, row);
  }
  if (depth <= 2 * key_strip) return whole_key_scores<2>(out, q, heads, keys, depth, row);
  whole_key_scores<4>(out, q, heads, keys, depth, row);
}

/// Chains c and c + 4 of heads g … g + Heads − 1 for the columns of the strip from `column` on, added up. Warp w holds
/// chain w in its first half and w + 4 in its second.
template <int Heads, class Row>
__device__ void weigh(Tile<float> scratch, Tile<float> weights, int g, int keys, int column, int columns,
                      const Row& row) {
  constexpr int together = 4;
  using T = std::remove_cv_t<std::remove_pointer_t<decltype(row(0))>>;
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % value_lanes;
  const int chain = warp + ((threadIdx.x & 16U) != 0 ? 4 : 0);
  float sum[Heads][piece] = {};
  Piece<T> next[together];
  const auto load = [&](int first) {
#pragma unroll
    for (int t = 0; t < together; ++t) {
      const T* const from = row(first + value_chains * t < keys ? first + value_chains * t : keys - 1);
      next[t] = load_piece(from, column + lane * piece, columns);
    }
  };
  load(chain);
#pragma unroll 1
  for (int first = chain; first < keys; first += value_chains * together) {
    Piece<T> value[together];
#pragma unroll
    for (int t = 0; t < together; ++t) value[t] = next[t];
    if (first + value_chains * together < keys) load(first + value_chains * together);
#pragma unroll
    for (int t = 0; t < together; ++t) {
      const int j = first + value_chains * t;
      if (j >= keys) break;
      float v[piece];
#pragma unroll
      for (int e = 0; e < piece; ++e) v[e] = element(value[t], e);
#pragma unroll
      for (int h = 0; h < Heads; ++h) {
        const float weight = weights(g + h, j);
        if (!is_term(weight)) continue;
#pragma unroll
        for (int e = 0; e < piece; ++e) sum[h][e] = fma(weight, v[e], sum[h][e]);
      }
    }
  }
  __syncwarp();
#pragma unroll
  for (int h = 0; h < Heads; ++h) {
#pragma unroll
    for (int e = 0; e < piece; ++e) {
      const float both = sum[h][e] + __shfl_xor_sync(all_lanes, sum[h][e], 16);
      const int c = column + lane * piece + e;
      if (chain < 4 && c < columns) scratch(4 * (g + h) + warp, c) = both;
    }
  }
}

/// Rows of whole pieces: as many heads at a time as leave registers to the rows on their way.
template <class Row>
__device__ void whole_weighted_values(Tile<float> scratch, Tile<float> weights, int heads, int keys, int columns,
                                      const Row& row) {
#pragma unroll 1
  for (int column = 0; column < columns; column += value_strip) {
    int g = 0;
    for (; g + 8 <= heads; g += 8) weigh<8>(scratch, weights, g, keys, column, columns, row);
    for (; g + 6 <= heads; g += 6) weigh<6>(scratch, weights, g, keys, column, columns, row);
    for (; g + 4 <= heads; g += 4) weigh<4>(scratch, weights, g, keys, column, columns, row);
    for (; g + 2 <= heads; g += 2) weigh<2>(scratch, weights, g, keys, column, columns, row);
    for (; g < heads; ++g) weigh<1>(scratch, weights, g, keys, column, columns, row);
  }
}

/// Rows of any length and layout, a head and a strip at a time.
template <class Row>
__device__ void any_weighted_values(Tile<float> scratch, Tile<float> weights, int heads, int keys, int columns,
                                    std::int64_t step, const Row& row) {
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % value_lanes;
  const int chain = warp + ((threadIdx.x & 16U) != 0 ? 4 : 0);
#pragma unroll 1
  for (int g = 0; g < heads; ++g) {
#pragma unroll 1
    for (int column = lane * piece; column < padded(columns, value_strip); column += value_strip) {
      float sum[piece] = {};
#pragma unroll 1
      for (int j = chain; j < keys; j += value_chains) {
        const float weight = weights(g, j);
        if (!is_term(weight)) continue;
        const auto* const from = row(j);
#pragma unroll
        for (int e = 0; e < piece; ++e) {
          sum[e] = fma(weight, load_element(from, column + e, columns, step), sum[e]);
        }
      }
      __syncwarp();
#pragma unroll
      for (int e = 0; e < piece; ++e) {
        const float both = sum[e] + __shfl_xor_sync(all_lanes, sum[e], 16);
        if (chain < 4 && column + e < columns) scratch(4 * g + warp, column + e) = both;
      }
    }
  }
}

template <class Block, class Row>
__device__ void weighted_values(Block&, Tile<float> scratch, Tile<float> weights, int heads, int keys, int columns,
                                std::int64_t step, const Row& row) {
  if (!whole_pieces(row, keys, columns, step)) {
    return any_weighted_values(scratch, weights, heads, keys, columns, step, row);
  }
  whole_weighted_values(scratch, weights, heads, keys, columns, row);
}

}  // namespace nbx::tile::detail
