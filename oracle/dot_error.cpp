#include "oracle/dot_error.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace nbx::oracle {
namespace {

constexpr double kHalfUlpF32 = 0x1p-24;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// fl(a + b) of fp32 numbers is exact where it is subnormal, so additions underflow under ftz alone; fma and products
// do, and so does a sum to which an exact product is added.
double addition_quantum(bool flush_to_zero) { return flush_to_zero ? 0x1p-126 : 0; }
double product_quantum(bool flush_to_zero) { return flush_to_zero ? 0x1p-126 : 0x1p-150; }

std::int64_t tree_depth(std::int64_t leaves) {
  return leaves <= 1 ? 0 : std::bit_width(static_cast<std::uint64_t>(leaves - 1));
}

// Operands in two parts. y = x · 2^s, largest in [2^14, 2^15); h = 2^-11, the roundoff of f16:
//   |y - hi| <= h |y|, or 2^-25 where hi is subnormal; the difference is exact, at most 2^12 units of y's last place,
//   so that lo, 11 bits of it, leaves one of them: |y - (hi + 2^-11 lo)| <= 2^-23 |y|, or 2^-36 where lo is subnormal;
//   |2^-11 lo| <= h (1 + h) |y|, or 2^-25.
// The absolute parts, and y's own rounding where it underflows, are relative to 2^15, the power of two above the
// largest.
struct Split {
  static constexpr double h = 0x1p-11, left = 0x1p-23, high = 1 + h, low = h * (1 + h);
  static constexpr double left_absolute = 0x1p-51 * (1 + 0x1p-40), part_absolute = 0x1p-40 * (1 + 0x1p-40);

  double growth = 0;  // of a term of the stretch, everything but the addition of the stretch
  // `own` terms of a stretch of `stretch` from this one on, in groups of `group`.
  Split(std::int64_t own, std::int64_t stretch, std::int64_t group) {
    const double main = compounded(kHalfUlpF32, group + ceil_div(own - 1, group) + 1);
    const double cross = compounded(kHalfUlpF32, group + ceil_div(2 * (stretch + group) - 1, group) + 1);
    // Both operands' rest, lo · lo, both chains, and the sum of the two.
    growth = compose(left, left) + low * low + high * high * main + 2 * low * high * cross +
             kHalfUlpF32 * (high * high * (1 + main) + 2 * low * high * (1 + cross));
  }
  // What of a term does not shrink with its operands; `rounded` bounds the growth of all terms.
  static double of_largest(double rounded) {
    const double parts = 2 * (high + low) * part_absolute + part_absolute * part_absolute;
    return (2 * left_absolute * (1 + left) + left_absolute * left_absolute + 2 * low * part_absolute +
            part_absolute * part_absolute + 2 * rounded * parts) *
           (1 + rounded);
  }
};

}  // namespace

double compounded(double u, std::int64_t n) { return std::expm1(static_cast<double>(n) * u) * (1 + 0x1p-40); }

DotError dot_error(const Dot& dot, std::int64_t terms, std::int64_t extra, bool flush_to_zero) {
  DotError error;
  error.uniform = dot.unit == Dot::Unit::any_order;
  error.growth.assign(static_cast<std::size_t>(terms) + 1, 0.0);
  const std::int64_t stretch = dot.restart > 0 ? std::min(dot.restart, terms) : terms;
  const std::int64_t group = std::max(dot.group, 1);
  for (std::int64_t left = 1; left <= terms; ++left) {
    // Of the `left` terms from this one on, those in its own stretch, and the stretches that begin behind it.
    const std::int64_t own = std::min(left, stretch);
    const std::int64_t restarts = dot.restart > 0 ? ceil_div(left - 1, stretch) + 1 : 0;
    double inner = 0;
    switch (dot.unit) {
      case Dot::Unit::simt_f32:
        // One rounding of its own fma, one for each later fma of its chain, then the tree.
        inner = compounded(kHalfUlpF32, ceil_div(own, dot.chains) + tree_depth(dot.chains));
        break;
      case Dot::Unit::any_order:
        // n terms: at most n - 1 additions on the way of one; one more for a sum that starts from an accumulator.
        inner = compounded(dot.u, own + (dot.products_exact ? 0 : 1));
        break;
      case Dot::Unit::fused_group: {
        // Each group cuts group + 1 terms by less than 2^(e_max - kept_bits), 2^e_max <= the largest |term|, and then
        // the sum by less than one unit of its last place. Both are at most that share of the sum of magnitudes.
        const double cut = (static_cast<double>(group) + 1) * std::ldexp(1.0, -dot.kept_bits) +
                           std::ldexp(1.0, 1 - dot.result_precision);
        inner = compounded(cut, ceil_div(own - 1, group) + 1);
        break;
      }
      case Dot::Unit::grouped_f32:
        inner = compounded(kHalfUlpF32, group + ceil_div(own - 1, group) + 1);
        break;
      case Dot::Unit::split_f16:
        inner = Split(own, stretch, group).growth;
        break;
    }
    error.growth[left] = compose(inner, compounded(kHalfUlpF32, restarts + extra));
  }
  switch (dot.unit) {
    case Dot::Unit::simt_f32:
    case Dot::Unit::any_order:
    case Dot::Unit::grouped_f32:
      error.absolute_per_term = product_quantum(flush_to_zero);
      break;
    case Dot::Unit::fused_group:
      // Per group: (group + 1) · 2^(exponent_floor - kept_bits) where e_max is its floor, and the quantum of the
      // result.
      error.absolute_per_term =
          ((static_cast<double>(group) + 1) * std::ldexp(1.0, dot.exponent_floor - dot.kept_bits) + 0x1p-149 +
           addition_quantum(flush_to_zero));
      // A subnormal operand raises e_max as if it were the smallest normal, past the largest |term| that growth
      // assumes.
      error.of_subnormal = (static_cast<double>(group) + 1) * std::ldexp(1.0, -dot.kept_bits) *
                           (1 + error.growth[static_cast<std::size_t>(terms)]);
      if (dot.subnormals_as_normal) error.of_subnormal = 0;
      break;
    case Dot::Unit::split_f16:
      error.of_largest = Split::of_largest(error.growth[static_cast<std::size_t>(terms)]);
      error.absolute_per_term = product_quantum(flush_to_zero) * 2;  // a sum without its scale
      break;
  }
  // Each later rounding enlarges it; the last growth bounds them all. Restarts and the tree add without underflow.
  error.absolute_per_term *= 1 + error.growth[static_cast<std::size_t>(terms)];
  error.absolute_per_term += (extra > 0 || dot.restart > 0 ? 2 : 1) * addition_quantum(flush_to_zero);
  return error;
}

}  // namespace nbx::oracle
