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
      break;
  }
  // Each later rounding enlarges it; the last growth bounds them all. Restarts and the tree add without underflow.
  error.absolute_per_term *= 1 + error.growth[static_cast<std::size_t>(terms)];
  error.absolute_per_term += (extra > 0 || dot.restart > 0 ? 2 : 1) * addition_quantum(flush_to_zero);
  return error;
}

}  // namespace nbx::oracle
