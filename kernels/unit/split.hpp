// fp32 operands on m8n8k4: each is two numbers of f16 behind a scale that its row of A, or column of B, has in common.
//
//   x · 2^s = hi + 2^-11 · lo, up to 2^-23 |x| and 2^-36
//   A · B = 2^(−s_a − s_b) · Σ over groups of k of (Σ hi·hi + 2^-11 · Σ (hi·lo + lo·hi))
//
// lo · lo, below 2^-22 of a product, is left out. What is not finite counts as 0, in scales as in products.
#pragma once

#include "kernels/tile/dot.hpp"
#include "kernels/unit/instruction.hpp"

#if !defined(__CUDACC__)
#include <algorithm>

#include "kernels/unit/product.hpp"
#endif

namespace nbx::unit {

/// 2^exponent, |exponent| ≤ 126.
NBX_FUNCTION float power_of_two(int exponent) {
  return tile::float_of(static_cast<std::uint32_t>(127 + exponent) << 23);
}

/// What the split computes, one decision a function. A control derives from it and hides one.
struct Split {
  /// Terms summed in the unit before each fp32 addition: one chain of hi·hi, and one that takes of each four
  /// terms hi·lo and then lo·hi.
  static constexpr int group = 32;

  NBX_FUNCTION static float read(float x) { return tile::select(tile::is_finite(x), x, 0.0F); }
  /// The largest |x| of a line so far; x is its element `at`.
  NBX_FUNCTION static float larger(float so_far, float x, int /*at*/) {
    const float size = tile::float_of(tile::bits_of(x) & 0x7FFFFFFFU);
    return tile::select(size > so_far, size, so_far);
  }
  /// s: the largest comes to [2^14, 2^15). A line of zeros is not scaled.
  NBX_FUNCTION static int exponent(float largest) {
    if (largest == 0.0F) return 0;
    const int scale = 14 + 127 - static_cast<int>(tile::bits_of(largest) >> 23);  // of subnormal numbers: 141
    return scale > 126 ? 126 : scale;
  }
  NBX_FUNCTION static float high(float x) { return tile::narrow<tile::f16>(x); }
  /// The difference is exact.
  NBX_FUNCTION static float low(float x, float high) { return tile::narrow<tile::f16>((x - high) * 0x1p11F); }
  NBX_FUNCTION static float together(float main, float cross) { return main + cross * 0x1p-11F; }
};

/// sum · 2^(−of_a − of_b) in two steps of one sign, so that the first neither overflows nor underflows alone.
NBX_FUNCTION float unscaled(float sum, int of_a, int of_b) {
  const int all = -(of_a + of_b), half = all / 2;
  return sum * power_of_two(half) * power_of_two(all - half);
}

#if defined(__CUDACC__)

/// One warp: c (rows, columns) += A (rows, depth) · B (depth, columns) for at most 8 × 32. `present`: B's rows k at
/// which A holds no term (tile::no_term()), the same in all its rows, count as zeros.
template <class S, bool present>
NBX_DEVICE void multiply_split_tile(const float* a, int a_stride, const float* b, int b_stride, float* c, int c_stride,
                                    int rows, int columns, int depth) {
  const detail::QuadPair at;
  const int column = at.first + at.own;
  const detail::Part of_a{a, a_stride, rows, depth}, of_b{b, b_stride, depth, columns};
  const auto left = [&](int k) { return S::read(of_a(at.own, k)); };
  const auto right = [&](int k) {
    return present && k < depth && !tile::is_term(a[k]) ? 0.0F : S::read(of_b(k, column));
  };
  float largest_a = 0.0F, largest_b = 0.0F;
  for (int k = 0; k < depth; ++k) {
    largest_a = S::larger(largest_a, left(k), k);
    largest_b = S::larger(largest_b, right(k), k);
  }
  const int scale_a = S::exponent(largest_a), scale_b = S::exponent(largest_b);
  const float by_a = power_of_two(scale_a), by_b = power_of_two(scale_b);
  float total[8] = {};
  for (int first = 0; first < depth; first += S::group) {
    const int end = depth - first < S::group ? depth : first + S::group;
    float main[8] = {}, cross[8] = {};
    // A part of four terms of a line as the unit takes it.
    const auto words = [](std::uint32_t* to, const float* x, bool low) {
      float part[4];
      NBX_UNROLL
      for (int i = 0; i < 4; ++i) {
        const float high = S::high(x[i]);
        part[i] = low ? S::low(x[i], high) : high;
      }
      to[0] = detail::pair_of<tile::f16>(part[0], part[1]);
      to[1] = detail::pair_of<tile::f16>(part[2], part[3]);
    };
#pragma unroll 1
    for (int k = first; k < end; k += M8N8K4F16::k) {
      float x[4], y[4];
      NBX_UNROLL
      for (int i = 0; i < 4; ++i) {
        x[i] = k + i < end ? left(k + i) * by_a : 0.0F;
        y[i] = k + i < end ? right(k + i) * by_b : 0.0F;
      }
      std::uint32_t high_x[2], low_x[2], high_y[2], low_y[2];
      words(high_x, x, false), words(low_x, x, true);
      words(high_y, y, false), words(low_y, y, true);
      detail::mma(M8N8K4F16{}, main, high_x, high_y);
      detail::mma(M8N8K4F16{}, cross, high_x, low_y);
      detail::mma(M8N8K4F16{}, cross, low_x, high_y);
    }
    NBX_UNROLL
    for (int i = 0; i < 8; ++i) total[i] = total[i] + S::together(main[i], cross[i]);
  }
  NBX_UNROLL
  for (int i = 0; i < 8; ++i) {
    const int of_row = __shfl_sync(0xFFFFFFFFU, scale_a, at.owner(at.row(i)));
    const int of_column = __shfl_sync(0xFFFFFFFFU, scale_b, at.owner(at.column(i) - at.first));
    if (at.row(i) < rows && at.column(i) < columns) {
      float& to = c[at.row(i) * c_stride + at.column(i)];
      to = to + unscaled(total[i], of_row, of_column);
    }
  }
}

#else

namespace detail {

inline constexpr int split_side = 64;  // rows and columns at once

/// Lines of A or columns of B: their scales.
struct SplitScales {
  int exponent[split_side];
  float by[split_side];

  template <class S>
  void set(const float* largest, int count) {
    for (int i = 0; i < count; ++i) exponent[i] = S::exponent(largest[i]), by[i] = power_of_two(exponent[i]);
  }
};

/// Where term k of a group stands among the cross terms: four high before low in A, low before high in B.
constexpr int cross_place(int k) { return k / 4 * 8 + k % 4; }

}  // namespace detail

/// The same on the CPU, for any number of rows and up to 64 columns.
template <class S, bool present>
void multiply_split(const Matrices& m) {
  constexpr int side = detail::split_side, group = S::group;
  const auto hidden = [&](int k) { return present && !tile::is_term(m.a[k]); };
  float largest[side] = {};
  for (int k = 0; k < m.depth; ++k) {
    if (hidden(k)) continue;
    const float* const b = m.b + k * m.b_stride;
    for (int j = 0; j < m.columns; ++j) largest[j] = S::larger(largest[j], S::read(b[j]), k);
  }
  detail::SplitScales of_column, of_row;
  of_column.set<S>(largest, m.columns);
  for (int top = 0; top < m.rows; top += side) {
    const int rows = std::min(m.rows - top, side);
    for (int r = 0; r < rows; ++r) {
      const float* const a = m.a + (top + r) * m.a_stride;
      largest[r] = 0.0F;
      for (int k = 0; k < m.depth; ++k) largest[r] = S::larger(largest[r], S::read(a[k]), k);
    }
    of_row.set<S>(largest, rows);
    alignas(32) float total[side * side], main[side * side], cross[side * side];
    std::fill_n(total, rows * side, 0.0F);
    for (int first = 0; first < m.depth; first += group) {
      const int depth = std::min(m.depth - first, group), padded = (depth + 3) / 4 * 4;
      alignas(32) float a_high[side * group], a_cross[side * 2 * group];
      alignas(32) float b_high[group * side], b_cross[2 * group * side];
      for (int k = 0; k < padded; ++k) {
        float* const high = b_high + k * side;
        float* const cross_low = b_cross + detail::cross_place(k) * side;
        float* const cross_high = cross_low + 4 * side;
        if (k >= depth || hidden(first + k)) {
          for (float* const to : {high, cross_low, cross_high}) std::fill_n(to, m.columns, 0.0F);
          continue;
        }
        const float* const b = m.b + (first + k) * m.b_stride;
        for (int j = 0; j < m.columns; ++j) {
          const float y = S::read(b[j]) * of_column.by[j], of_y = S::high(y);
          high[j] = of_y, cross_high[j] = of_y, cross_low[j] = S::low(y, of_y);
        }
      }
      for (int r = 0; r < rows; ++r) {
        const float* const a = m.a + (top + r) * m.a_stride + first;
        float line[group] = {}, high[group], low[group];
        for (int k = 0; k < depth; ++k) line[k] = S::read(a[k]) * of_row.by[r];
        for (int k = 0; k < group; ++k) high[k] = S::high(line[k]), low[k] = S::low(line[k], high[k]);
        std::copy_n(high, padded, a_high + r * group);
        for (int k = 0; k < padded; k += 4) {
          std::copy_n(high + k, 4, a_cross + r * 2 * group + 2 * k);
          std::copy_n(low + k, 4, a_cross + r * 2 * group + 2 * k + 4);
        }
      }
      std::fill_n(main, rows * side, 0.0F);
      std::fill_n(cross, rows * side, 0.0F);
      multiply(Matrices{a_high, b_high, main, group, side, side, rows, m.columns, padded}, M8N8K4F16{});
      multiply(Matrices{a_cross, b_cross, cross, 2 * group, side, side, rows, m.columns, 2 * padded}, M8N8K4F16{});
      for (int i = 0; i < rows * side; ++i) total[i] = total[i] + S::together(main[i], cross[i]);
    }
    for (int r = 0; r < rows; ++r) {
      float* const c = m.c + (top + r) * m.c_stride;
      for (int j = 0; j < m.columns; ++j) {
        c[j] = c[j] + unscaled(total[r * side + j], of_row.exponent[r], of_column.exponent[j]);
      }
    }
  }
}

#endif

}  // namespace nbx::unit
