// Weights from exponents with a whole shift: p = 2^(s · c − M), s the finished dot product, c = scale · log2 e and M a
// whole number, the least one that is not under s · c of any key so far. Moving M multiplies l and O by a power of two,
// which is exact, and M rarely moves. The same operations on both back ends, and in the form that keeps its tiles in
// registers (register_form.hpp).
#pragma once

#include "kernels/tile/functions.hpp"

namespace nbx::flash {

inline constexpr float log2_e = 0x1.715476p0F, ln_2 = 0x1.62e43p-1F;

/// From a dot product to its exponent: the finished product is multiplied by `before`, and the exponent is the result
/// times c. inverse = 1 / c. Times `natural` the result is the score, to which a bias is added; back = 1 / natural.
struct Exponents {
  float before, c, inverse;
  float natural, back;

  /// c takes the scale where that is an ordinary positive number; else products are scaled one by one.
  NBX_FUNCTION static Exponents of(float scale) {
    if (scale >= 0x1p-40F && scale <= 0x1p40F) {
      return {1.0F, scale * log2_e, tile::divide(1.0F, scale * log2_e), scale, tile::divide(1.0F, scale)};
    }
    return {scale, log2_e, tile::divide(1.0F, log2_e), 1.0F, 1.0F};
  }

  /// A bias of 0 changes nothing; one of −inf is selected, whatever the product. A finite score stays finite.
  NBX_FUNCTION float biased(float product, float bias) const {
    const float score = product * natural + bias;
    const float most = 0x1.fffffep127F;
    const float again = score * back;
    const float held = tile::select(again > most, most, tile::select(again < -most, -most, again));
    const float sum = tile::select(tile::is_finite(score), held, again);
    const float number = tile::select(bias == 0.0F, product, sum);
    return tile::select(bias == -tile::infinity(), bias, number);
  }
};

/// Shifts up to this go the exact way, which keeps n and M in the 23 bits of a sum.
inline constexpr float far_shift = 0x1p21F;
NBX_FUNCTION bool is_far(float shift) {  // NaN and infinities are, too
  return !(tile::float_of(tile::bits_of(shift) & 0x7FFFFFFFU) <= far_shift);
}
/// Exponents are held above −160 against M: what lies below 2^-150 is 0.
inline constexpr float deepest = 160.0F;
/// The form in registers starts M at −far_shift. Where it ends above this, keys that lay below −far_shift are 0 by now.
inline constexpr float deepest_shift = -far_shift + 1024.0F;

/// M as a tile of keys asks for it, of its largest s. A row's M is the largest so far; −inf where every score was.
NBX_FUNCTION float whole_above(float max, float c) {
#if NBX_DEVICE_CODE
  return ceilf(max * c);
#else
  return __builtin_ceilf(max * c);
#endif
}

/// What exponents are taken against: while every score is −inf there is nothing to weigh.
NBX_FUNCTION float shift_of(float whole) { return tile::select(whole == -tile::infinity(), 0.0F, whole); }

/// Of one row: what its weights are computed with.
struct WholeShift {
  static constexpr float start = tile::detail::round_shift + 64.0F;
  float offset;  // start − M
  float least;   // scores below have weight 0

  NBX_FUNCTION static WholeShift of(float shift, const Exponents& by) {
    return {start - shift, (shift - deepest) * by.inverse};
  }
};

/// Of a weight, worst 54.07 at r = -0x1.3d4786p-3: 2^r by a polynomial of degree 4, with its roundings. That is 2^-18
/// of a weight, which is then narrowed to 11 or 8 bits.
inline constexpr double weight_ulp = 54.1;

/// 2^r for |r| ≤ 1/2, exact at 0.
NBX_FUNCTION float power_of_fraction(float r) {
  float q = 0x1.408b7p-7F;
  q = tile::fma(q, r, 0x1.ca8f4ap-5F);
  q = tile::fma(q, r, 0x1.ebf1b8p-3F);
  q = tile::fma(q, r, 0x1.62dfcap-1F);
  return tile::fma(q, r, 1.0F);
}

/// 2^(s · c − M), s at most what M was taken from, M not far: s · c − M = n + r, n in the low bits of a sum whose last
/// place is 1, r rounded once. A NaN counts as a score of weight 0. −inf gives +0.
NBX_FUNCTION float near_weight(float score, const WholeShift& row, float c) {
#if NBX_DEVICE_CODE
  const float s = fmaxf(score, row.least);
#else
  const float s = tile::select(score > row.least, score, row.least);
#endif
  const float sum = tile::fma(s, c, row.offset);
  const float r = tile::fma(s, c, row.offset - sum);
  const float scaled = tile::float_of(tile::bits_of(power_of_fraction(r)) + (tile::bits_of(sum) << 23));
  return scaled * 0x1p-64F;
}

/// The same where M is far: the exponent is rounded before M is taken away.
NBX_FUNCTION float far_weight(float score, float shift, float c) { return tile::exp2(score * c - shift); }

/// The factor of l and O when M moves from `before` to `now`: a power of two, subnormal ones included. Before the first
/// score there is nothing to multiply, and any finite factor serves.
NBX_FUNCTION float whole_rescale(float before, float now) {
  const float step = before - now;
#if NBX_DEVICE_CODE
  const float held = fminf(fmaxf(step, -deepest), 0.0F);
#else
  const float raised = tile::select(step > -deepest, step, -deepest);
  const float held = tile::select(raised < 0.0F, raised, 0.0F);
#endif
  const float sum = held + (tile::detail::round_shift + 191.0F);
  return tile::float_of(tile::bits_of(sum) << 23) * 0x1p-64F;
}

}  // namespace nbx::flash
