// One fused group of a matrix unit: L products and an addend, cut to a common last place, added exactly, and converted
// to fp32 once toward zero. In plain integers, element by element: this is the definition, group_lanes.hpp the quick
// form.
//
//   1. Operands are exact; exponents are at least the format's least one, so that a subnormal significand is below 1.
//   2. A product is the product of the significands, not renormalised, and the sum of the exponents.
//   3. e_max is the largest exponent among the nonzero products and a nonzero addend, and at least the floor.
//   4. Each term is cut toward zero to a multiple of 2^(e_max − kept_bits), the addend too.
//   5. They are added exactly. A zero sum is +0.
//   6. The sum is cut toward zero to result_bits and to a multiple of 2^-149; past the largest finite number it is Inf.
//   7. A NaN, Inf · 0 or Inf − Inf gives the canonical NaN.
//
// Measured, but for the parameters that architectures.hpp marks otherwise; see kernels/README.md.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "kernels/tile/functions.hpp"

namespace nbx::unit {

/// The parameters of a fused group.
struct Group {
  int length;     // L, products of one group
  int kept_bits;  // F, places below the largest exponent
  int floor;      // the least e_max
  int result_bits = 24;

  bool operator==(const Group&) const = default;
};

/// How a format's numbers are read. A number is significand · 2^(exponent − fraction_bits).
struct OperandFormat {
  int fraction_bits, least_exponent;
};
inline constexpr OperandFormat f16_operand{10, -14};
inline constexpr OperandFormat bf16_operand{7, -126};
inline constexpr OperandFormat tf32_operand{10, -126};  // the low 13 bits of the word are cut off
inline constexpr OperandFormat e4m3_operand{3, -6};
inline constexpr OperandFormat f32_operand{23, -126};

/// A number as an operand; exponent `nothing` for zero.
struct Operand {
  static constexpr int nothing = -8192;
  std::int64_t significand;  // signed
  int exponent;
};

/// x finite; what it has below the format's last place is cut off.
inline Operand operand(float x, OperandFormat format) {
  const std::uint32_t bits = tile::bits_of(x);
  const auto biased = static_cast<int>((bits & 0x7FFFFFFFU) >> 23);
  const int exponent = (biased > 1 ? biased : 1) - 127;
  const std::int64_t whole = (bits & 0x7FFFFFU) | (biased != 0 ? 0x800000U : 0U);
  const int held = exponent > format.least_exponent ? exponent : format.least_exponent;
  const int dropped = 23 - format.fraction_bits + held - exponent;
  const std::int64_t significand = dropped < 63 ? whole >> dropped : 0;
  if (significand == 0) return {0, Operand::nothing};
  return {(bits >> 31) != 0 ? -significand : significand, held};
}

/// x · 2^places, cut toward zero.
inline std::int64_t scaled(std::int64_t x, int places) {
  if (places >= 0) return x * (std::int64_t{1} << places);
  if (places <= -63) return 0;
  const std::int64_t magnitude = (x < 0 ? -x : x) >> -places;
  return x < 0 ? -magnitude : magnitude;
}

/// total · 2^exponent in `bits` significant bits and multiples of 2^-149, cut toward zero.
inline float converted(std::int64_t total, int exponent, int bits) {
  if (total == 0) return 0.0F;
  const std::int64_t magnitude = total < 0 ? -total : total;
  const auto width = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(magnitude)));
  int dropped = width > bits ? width - bits : 0;
  if (exponent + dropped < -149) dropped = -149 - exponent;
  const auto kept = dropped < 63 ? static_cast<float>(magnitude >> dropped) : 0.0F;
  const float result = std::ldexp(kept, exponent + dropped);
  return total < 0 ? 0.0F - result : result;
}

/// Steps 1 to 5, for finite operands: total · 2^exponent.
struct Sum {
  std::int64_t total;
  int exponent;
};

inline Sum finite_sum(const Group& group, OperandFormat format, int count, const float* a, const float* b,
                      float addend) {
  int most = group.floor;
  for (int k = 0; k < count; ++k) {
    const int exponent = operand(a[k], format).exponent + operand(b[k], format).exponent;
    most = exponent > most ? exponent : most;
  }
  const Operand c = operand(addend, f32_operand);
  most = c.exponent > most ? c.exponent : most;
  std::int64_t total = scaled(c.significand, group.kept_bits - f32_operand.fraction_bits + c.exponent - most);
  for (int k = 0; k < count; ++k) {
    const Operand x = operand(a[k], format), y = operand(b[k], format);
    total += scaled(x.significand * y.significand,
                    group.kept_bits - 2 * format.fraction_bits + x.exponent + y.exponent - most);
  }
  return {total, most - group.kept_bits};
}

/// The group's result. a and b hold `count` ≤ group.length operands; missing ones are zeros.
inline float fused_group(const Group& group, OperandFormat format, int count, const float* a, const float* b,
                         float addend) {
  using tile::is_finite;
  bool nan = tile::is_nan(addend), plus = addend == tile::infinity(), minus = addend == -tile::infinity();
  for (int k = 0; k < count; ++k) {
    if (is_finite(a[k]) && is_finite(b[k])) continue;
    const float product = a[k] * b[k];  // NaN or infinite
    nan = nan || tile::is_nan(product);
    plus = plus || product > 0;
    minus = minus || product < 0;
  }
  if (nan || (plus && minus)) return tile::canonical_nan();
  if (plus || minus) return plus ? tile::infinity() : -tile::infinity();

  const Sum sum = finite_sum(group, format, count, a, b, addend);
  return converted(sum.total, sum.exponent, group.result_bits);
}

}  // namespace nbx::unit
