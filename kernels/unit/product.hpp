// Products on matrix units, on the CPU: whole chains of instructions for a row of A and several columns of B at once.
//
//   c(i, j) ← the chain over k = 0 … depth − 1, rising, of A(i, k) · B(k, j), from c(i, j).
#pragma once

#include <algorithm>
#include <iterator>

#include "kernels/unit/group_lanes.hpp"
#include "kernels/unit/units.hpp"

namespace nbx::unit {

/// Row-major matrices of floats that the unit's operand format holds exactly.
struct Matrices {
  const float* a;
  const float* b;
  float* c;
  std::ptrdiff_t a_stride, b_stride, c_stride;
  int rows, columns, depth;
};

namespace detail {

inline constexpr int block = 128;  // of k at once; a multiple of every instruction's

/// Where the unit takes term `at` of an instruction from.
template <class Unit>
constexpr int place(int at) {
  if constexpr (requires { Unit::place(0); }) {
    return at / Unit::k * Unit::k + Unit::place(at % Unit::k);
  } else {
    return at;
  }
}

/// What the unit sees of a word: without the bits that it does not read, so that a NaN whose payload lies there is Inf.
template <class Unit>
float as_read(float x) {
  return tile::float_of(tile::bits_of(x) & read_mask<Unit>);
}

/// Operands of one block of k, as the lanes read them; places from `depth` on hold zeros.
struct RowBlock {
  alignas(32) std::int32_t significand[block], exponent[block], sign[block];
  bool special;  // holds a NaN or an Inf
};
struct ColumnBlock {
  alignas(32) std::int32_t significand[block * lanes], exponent[block * lanes], sign[block * lanes];
  bool special;
};

template <class Unit>
void read_row(RowBlock& to, const float* from, int depth, int padded, int raised) {
  alignas(32) float line[block] = {};
  to.special = false;
  for (int k = 0; k < padded; ++k) {
    const int at = place<Unit>(k);
    line[k] = at < depth ? as_read<Unit>(from[at]) : 0.0F;
  }
  for (int k = 0; k < padded; k += lanes) {
    const Floats x = load_floats(line + k);
    const Parts part = parts(x, Unit::format);
    store_ints(to.significand + k, part.significand << raised);
    store_ints(to.exponent + k, part.exponent);
    store_ints(to.sign + k, part.sign);
    to.special = any_special(x) || to.special;
  }
}

template <class Unit>
void read_columns(ColumnBlock& to, const float* from, std::ptrdiff_t stride, int columns, int depth, int padded) {
  to.special = false;
  for (int k = 0; k < padded; ++k) {
    alignas(32) float line[lanes] = {};
    const int at = place<Unit>(k);
    if (at < depth) std::copy_n(from + at * stride, columns, line);
    const Floats x = (Floats)((Words)load_floats(line) & read_mask<Unit>);
    const Parts part = parts(x, Unit::format);
    store_ints(to.significand + k * lanes, part.significand);
    store_ints(to.exponent + k * lanes, part.exponent);
    store_ints(to.sign + k * lanes, part.sign);
    to.special = any_special(x) || to.special;
  }
}

/// One chain by the definition, for elements whose operands are not all finite. b has `b_stride` between its k.
template <class Unit>
float chain_element(const Group& group, const float* a, const float* b, std::ptrdiff_t b_stride, int depth, float c) {
  for (int first = 0; first < depth; first += Unit::k) {
    float x[Unit::k] = {}, y[Unit::k] = {};
    for (int at = 0; at < Unit::k; ++at) {
      const int k = place<Unit>(first + at);
      if (k < depth) x[at] = as_read<Unit>(a[k]), y[at] = as_read<Unit>(b[k * b_stride]);
    }
    constexpr bool apart = requires { Unit::adds_at_the_end; };
    float sum = apart ? 0.0F : c;
    for (int at = 0; at < Unit::k; at += group.length) {
      sum = fused_group(group, Unit::format, group.length, x + at, y + at, sum);
    }
    c = apart ? tile::select(tile::is_nan(c + sum), tile::canonical_nan(), c + sum) : sum;
  }
  return c;
}

/// A chain in each lane. Returns false where a sum on the way was not finite: the caller then takes the definition.
template <class Unit>
NBX_FORCE_INLINE bool chain_lanes(const Group& group, const RowOperands& a, const ColumnOperands& b, int padded,
                                  Floats& c) {
  constexpr bool apart = requires { Unit::adds_at_the_end; };
  for (int first = 0; first < padded; first += Unit::k) {
    Floats sum = apart ? Floats{} : c;
    for (int k = first; k < first + Unit::k; k += group.length) {
      if (any_special(sum)) return false;
      sum = fused_group_lanes(group, a, b, k, sum);
    }
    c = apart ? c + sum : sum;
    if (apart && any_special(c)) return false;
  }
  return true;
}

}  // namespace detail

/// The product on a unit of fused groups.
template <class Unit>
void multiply(const Matrices& m, const Group& group, Unit) {
  constexpr int side_by_side = 4;  // groups of columns that share the reading of a row
  const int raised = group.kept_bits - 2 * Unit::format.fraction_bits;
  detail::ColumnBlock columns[side_by_side];
  detail::RowBlock row;
  for (int first = 0; first < m.depth; first += detail::block) {
    const int depth = std::min(m.depth - first, detail::block);
    const int padded = (depth + Unit::k - 1) / Unit::k * Unit::k;
    for (int left = 0; left < m.columns; left += side_by_side * lanes) {
      const int right = std::min(left + side_by_side * lanes, m.columns);
      const float* const b = m.b + first * m.b_stride;
      for (int j = left; j < right; j += lanes) {
        detail::read_columns<Unit>(columns[(j - left) / lanes], b + j, m.b_stride, std::min(right - j, lanes), depth,
                                   padded);
      }
      for (int i = 0; i < m.rows; ++i) {
        const float* const a = m.a + i * m.a_stride + first;
        detail::read_row<Unit>(row, a, depth, padded, raised);
        for (int j = left; j < right; j += lanes) {
          const detail::ColumnBlock& of = columns[(j - left) / lanes];
          const int count = std::min(right - j, lanes);
          float* const c = m.c + i * m.c_stride + j;
          alignas(32) float line[lanes] = {};
          std::copy_n(c, count, line);
          Floats sum = load_floats(line);
          if (!row.special && !of.special && !any_special(sum) &&
              detail::chain_lanes<Unit>(group, {row.significand, row.exponent, row.sign},
                                        {of.significand, of.exponent, of.sign, lanes}, padded, sum)) {
            store_floats(line, sum);
            std::copy_n(line, count, c);
          } else {
            for (int lane = 0; lane < count; ++lane) {
              c[lane] = detail::chain_element<Unit>(group, a, b + j + lane, m.b_stride, depth, line[lane]);
            }
          }
        }
      }
    }
  }
}

/// The product on m8n8k4.
inline void multiply(const Matrices& m, M8N8K4F16) {
  constexpr int k = M8N8K4F16::k;
  alignas(32) float columns[detail::block * lanes];
  for (int first = 0; first < m.depth; first += detail::block) {
    const int depth = std::min(m.depth - first, detail::block);
    for (int j = 0; j < m.columns; j += lanes) {
      const int count = std::min(m.columns - j, lanes);
      std::fill(std::begin(columns), std::end(columns), 0.0F);
      for (int at = 0; at < depth; ++at) {
        std::copy_n(m.b + (first + at) * m.b_stride + j, count, columns + at * lanes);
      }
      for (int i = 0; i < m.rows; ++i) {
        float row[detail::block] = {};
        std::copy_n(m.a + i * m.a_stride + first, depth, row);
        float* const c = m.c + i * m.c_stride + j;
        alignas(32) float line[lanes] = {};
        std::copy_n(c, count, line);
        Floats sum = load_floats(line);
        for (int at = 0; at < depth; at += k) {
          Floats products{};  // from +0, so that products of −0 alone are +0
          for (int next = at; next < at + k; ++next) products += load_floats(columns + next * lanes) * row[next];
          sum = products + sum;
        }
        store_floats(line, sum);
        std::copy_n(line, count, c);
      }
    }
  }
}

}  // namespace nbx::unit
