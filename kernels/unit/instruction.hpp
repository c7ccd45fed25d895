// The matrix units as instructions of the device: one warp's mma.sync over fragments read from memory.
//
//   multiply_tile<from_zero>(a, b, c, rows, columns, depth)   c (rows, columns) += A (rows, depth) · B (depth, columns)
//
// for at most tile_rows × tile_columns, chained in rising k from c, or from zero and then added to c to nearest.
// Operands are floats that the unit's operand format holds exactly; what lies beyond rows, columns and depth counts as
// zero and is neither read nor written. Layouts are those of PTX ISA 9.0, "Matrix Fragments for mma": g = lane / 4, t =
// lane % 4.
#pragma once

#include "kernels/tile/number.hpp"
#include "kernels/tile/tile.hpp"
#include "kernels/unit/units.hpp"

namespace nbx::unit {

/// Rows and columns of C that one warp takes at once.
template <class Unit>
inline constexpr int tile_rows = 16;
template <>
inline constexpr int tile_rows<M8N8K4F16> = 8;
template <class Unit>
inline constexpr int tile_columns = 8;
template <>
inline constexpr int tile_columns<M8N8K4F16> = 32;  // four instructions' 8, one for each pair of quads

#if defined(__CUDACC__)

namespace detail {

/// Element (r, c) of a part of a tile; 0 beyond it.
struct Part {
  const float* at;
  int stride, rows, columns;
  NBX_DEVICE float operator()(int r, int c) const { return r < rows && c < columns ? at[r * stride + c] : 0.0F; }
};

template <class Format>
NBX_DEVICE std::uint32_t pair_of(float low, float high) {
  return tile::encode<Format>(low).bits | static_cast<std::uint32_t>(tile::encode<Format>(high).bits) << 16;
}

NBX_DEVICE inline std::uint32_t quad_of(float x0, float x1, float x2, float x3) {
  const auto byte = [](float x) { return static_cast<std::uint32_t>(tile::encode<tile::e4m3>(x).bits); };
  return byte(x0) | byte(x1) << 8 | byte(x2) << 16 | byte(x3) << 24;
}

/// What c becomes.
template <bool from_zero>
NBX_DEVICE float onto(float before, float sum) {
  return from_zero ? before + sum : sum;
}

#define NBX_MMA(instruction)                                                                            \
  asm volatile("mma.sync.aligned." instruction " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" \
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])                                         \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))

NBX_DEVICE inline void mma(M16N8K16F16, float* c, const std::uint32_t* a, const std::uint32_t* b) {
  NBX_MMA("m16n8k16.row.col.f32.f16.f16.f32");
}
NBX_DEVICE inline void mma(M16N8K16BF16, float* c, const std::uint32_t* a, const std::uint32_t* b) {
  NBX_MMA("m16n8k16.row.col.f32.bf16.bf16.f32");
}
NBX_DEVICE inline void mma(M16N8K8TF32, float* c, const std::uint32_t* a, const std::uint32_t* b) {
  NBX_MMA("m16n8k8.row.col.f32.tf32.tf32.f32");
}
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 890
NBX_DEVICE inline void mma(M16N8K32E4M3, float* c, const std::uint32_t* a, const std::uint32_t* b) {
  NBX_MMA("m16n8k32.row.col.f32.e4m3.e4m3.f32");
}
#else
NBX_DEVICE inline void mma(M16N8K32E4M3, float*, const std::uint32_t*, const std::uint32_t*) { __trap(); }  // none
#endif

#undef NBX_MMA

NBX_DEVICE inline void mma(M8N8K4F16, float* c, const std::uint32_t* a, const std::uint32_t* b) {
  asm volatile(
      "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {%0,%1,%2,%3,%4,%5,%6,%7}, {%8,%9}, {%10,%11}, "
      "{%0,%1,%2,%3,%4,%5,%6,%7};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]), "+f"(c[4]), "+f"(c[5]), "+f"(c[6]), "+f"(c[7])
      : "r"(a[0]), "r"(a[1]), "r"(b[0]), "r"(b[1]));
}

/// What a lane holds of m8n8k4: pair p of quads (lanes 4p … 4p + 3 and 16 + 4p … 19 + 4p) takes the columns 8p … 8p
/// + 7.
struct QuadPair {
  int lane = static_cast<int>(threadIdx.x) % 32;
  int first = lane % 16 / 4 * 8;       // column of the pair
  int own = lane % 4 + lane / 16 * 4;  // row of A, and column of B behind `first`
  NBX_DEVICE int row(int i) const { return (lane & 1) + (i & 2) + lane / 16 * 4; }  // of element i of C
  NBX_DEVICE int column(int i) const { return first + (i & 4) + (lane & 2) + (i & 1); }
  /// The lane of this pair whose `own` is r.
  NBX_DEVICE int owner(int r) const { return lane % 16 / 4 * 4 + r % 4 + r / 4 * 16; }
};

/// The 32-bit register of A (b: of Bᵀ) that holds row r from column 'from' on.
template <class Unit>
struct Packing;
template <>
struct Packing<M16N8K16F16> {
  static constexpr int width = 2;
  template <class At>
  NBX_DEVICE static std::uint32_t word(const At& at, int k) {
    return pair_of<tile::f16>(at(k), at(k + 1));
  }
};
template <>
struct Packing<M16N8K16BF16> {
  static constexpr int width = 2;
  template <class At>
  NBX_DEVICE static std::uint32_t word(const At& at, int k) {
    return pair_of<tile::bf16>(at(k), at(k + 1));
  }
};
template <>
struct Packing<M16N8K8TF32> {
  static constexpr int width = 1;
  template <class At>
  NBX_DEVICE static std::uint32_t word(const At& at, int k) {
    return tile::bits_of(at(k));
  }
};
template <>
struct Packing<M16N8K32E4M3> {
  static constexpr int width = 4;
  template <class At>
  NBX_DEVICE static std::uint32_t word(const At& at, int k) {
    return quad_of(at(k), at(k + 1), at(k + 2), at(k + 3));
  }
};

}  // namespace detail

template <bool from_zero, class Unit>
NBX_DEVICE void multiply_tile(const float* a, int a_stride, const float* b, int b_stride, float* c, int c_stride,
                              int rows, int columns, int depth, Unit) {
  using Pack = detail::Packing<Unit>;
  const int lane = static_cast<int>(threadIdx.x) % 32, g = lane / 4, t = lane % 4;
  const detail::Part of_a{a, a_stride, rows, depth}, of_b{b, b_stride, depth, columns},
      of_c{c, c_stride, rows, columns};
  float sum[4];
  for (int i = 0; i < 4; ++i) sum[i] = from_zero ? 0.0F : of_c(g + i / 2 * 8, 2 * t + i % 2);
  for (int k = 0; k < depth; k += Unit::k) {
    std::uint32_t words_a[4], words_b[2];
    for (int i = 0; i < 4; ++i) {
      const int row = g + i % 2 * 8;
      words_a[i] = Pack::word([&](int at) { return of_a(row, at); }, k + Pack::width * t + i / 2 * (Unit::k / 2));
    }
    for (int i = 0; i < 2; ++i) {
      words_b[i] = Pack::word([&](int at) { return of_b(at, g); }, k + Pack::width * t + i * (Unit::k / 2));
    }
    detail::mma(Unit{}, sum, words_a, words_b);
  }
  for (int i = 0; i < 4; ++i) {
    const int row = g + i / 2 * 8, column = 2 * t + i % 2;
    if (row < rows && column < columns)
      c[row * c_stride + column] = detail::onto<from_zero>(c[row * c_stride + column], sum[i]);
  }
}

template <bool from_zero>
NBX_DEVICE void multiply_tile(const float* a, int a_stride, const float* b, int b_stride, float* c, int c_stride,
                              int rows, int columns, int depth, M8N8K4F16) {
  const detail::QuadPair at;
  const detail::Part of_a{a, a_stride, rows, depth}, of_b{b, b_stride, depth, columns},
      of_c{c, c_stride, rows, columns};
  float sum[8];
  for (int i = 0; i < 8; ++i) sum[i] = from_zero ? 0.0F : of_c(at.row(i), at.column(i));
  for (int k = 0; k < depth; k += M8N8K4F16::k) {
    std::uint32_t words_a[2], words_b[2];
    for (int i = 0; i < 2; ++i) {
      const int column = at.first + at.own;
      words_a[i] = detail::pair_of<tile::f16>(of_a(at.own, k + 2 * i), of_a(at.own, k + 2 * i + 1));
      words_b[i] = detail::pair_of<tile::f16>(of_b(k + 2 * i, column), of_b(k + 2 * i + 1, column));
    }
    detail::mma(M8N8K4F16{}, sum, words_a, words_b);
  }
  for (int i = 0; i < 8; ++i) {
    if (at.row(i) < rows && at.column(i) < columns) {
      float& to = c[at.row(i) * c_stride + at.column(i)];
      to = detail::onto<from_zero>(to, sum[i]);
    }
  }
}

#endif

}  // namespace nbx::unit
