// The storage formats of tensors and their conversions to and from float, by integer operations and exact powers of
// two: the same bits on both back ends, without branches.
//
// Decoding is exact. Encoding rounds to nearest, ties to even; finite values saturate at the largest finite one, ±Inf
// is kept (e4m3, which has none, saturates it) and every NaN becomes the format's NaN of all ones with the sign clear.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/tile/functions.hpp"
#include "kernels/tile/qualifiers.hpp"

namespace nbx::tile {

/// IEEE binary16.
struct f16 {
  using Bits = std::uint16_t;
  static constexpr int exponent_bits = 5;
  static constexpr int fraction_bits = 10;
  static constexpr bool has_infinity = true;
  Bits bits;
};

/// The upper half of a float.
struct bf16 {
  using Bits = std::uint16_t;
  static constexpr int exponent_bits = 8;
  static constexpr int fraction_bits = 7;
  static constexpr bool has_infinity = true;
  Bits bits;
};

/// OCP FP8 E4M3 ("e4m3fn"): no infinity, NaN only where all bits but the sign are set, largest 448.
struct e4m3 {
  using Bits = std::uint8_t;
  static constexpr int exponent_bits = 4;
  static constexpr int fraction_bits = 3;
  static constexpr bool has_infinity = false;
  Bits bits;
};

/// OCP FP8 E5M2: the upper half of a binary16.
struct e5m2 {
  using Bits = std::uint8_t;
  static constexpr int exponent_bits = 5;
  static constexpr int fraction_bits = 2;
  static constexpr bool has_infinity = true;
  Bits bits;
};

/// What follows from the bit counts. Codes are without the sign.
template <class Format>
struct FormatTraits {
  static constexpr int precision = Format::fraction_bits + 1;
  static constexpr int bias = (1 << (Format::exponent_bits - 1)) - 1;
  static constexpr std::uint32_t sign = 1U << (Format::exponent_bits + Format::fraction_bits);
  static constexpr std::uint32_t nan = sign - 1U;
  static constexpr std::uint32_t infinity = ((1U << Format::exponent_bits) - 1U) << Format::fraction_bits;
  static constexpr std::uint32_t largest_finite = Format::has_infinity ? infinity - 1U : nan - 1U;
};

template <>
struct FormatTraits<float> {
  static constexpr int precision = 24;
};

/// 2^-precision: half the distance from 1 to the next number.
template <class Format>
NBX_FUNCTION constexpr float unit_roundoff() {
  float unit = 1.0F;
  for (int place = 0; place < FormatTraits<Format>::precision; ++place) unit *= 0.5F;
  return unit;
}

NBX_FUNCTION float decode(float x) { return x; }

/// The exact value; the canonical NaN for each NaN pattern.
template <class Format, class = typename Format::Bits>
NBX_FUNCTION float decode(Format x) {
  using Traits = FormatTraits<Format>;
  const std::uint32_t code = x.bits;
  const std::uint32_t positive = code & (Traits::sign - 1U);
  // Exponent and fraction in their places of a float; its power of two is then 2^(127 − bias) too low, subnormals
  // included. bf16 needs no correction.
  const float placed = float_of(positive << (23 - Format::fraction_bits));
  const float correction = float_of(static_cast<std::uint32_t>(254 - Traits::bias) << 23);
  const float finite = placed * correction;
  const bool is_infinite = Format::has_infinity && positive == Traits::infinity;
  const bool is_number = positive <= Traits::largest_finite;
  const std::uint32_t magnitude =
      select(is_number, bits_of(finite), select(is_infinite, infinity_bits, canonical_nan_bits));
  const std::uint32_t sign = select(is_number || is_infinite, (code & Traits::sign) / Traits::sign, 0U);
  return float_of(magnitude | (sign << 31));
}

/// x in `Format`, see the head of this file. encode<float>(x) is x.
template <class Format>
NBX_FUNCTION Format encode(float x) {
  if constexpr (std::is_same_v<Format, float>) {
    return x;
  } else {
    using Traits = FormatTraits<Format>;
    constexpr int dropped = 23 - Format::fraction_bits;
    const std::uint32_t bits = bits_of(x);
    const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
    // A normal result: half of the last place is added, less one where the kept part is even; a carry moves the
    // exponent.
    const std::uint32_t tie = (1U << (dropped - 1)) - 1U + ((magnitude >> dropped) & 1U);
    const std::uint32_t normal =
        ((magnitude + tie) >> dropped) - (static_cast<std::uint32_t>(127 - Traits::bias) << Format::fraction_bits);
    // A subnormal one: the last place of |x| + shift is the format's smallest subnormal, and the sum's fraction field
    // is the result.
    constexpr std::uint32_t shift_bits = static_cast<std::uint32_t>(127 + 1 - Traits::bias + dropped) << 23;
    const std::uint32_t subnormal = bits_of(float_of(magnitude) + float_of(shift_bits)) - shift_bits;
    constexpr std::uint32_t smallest_normal = static_cast<std::uint32_t>(127 + 1 - Traits::bias) << 23;
    const std::uint32_t rounded = select(magnitude < smallest_normal, subnormal, normal);
    const std::uint32_t finite = select(rounded < Traits::largest_finite, rounded, Traits::largest_finite);
    const std::uint32_t infinite = Format::has_infinity ? Traits::infinity : Traits::largest_finite;
    const std::uint32_t number = select(magnitude < infinity_bits, finite, infinite);
    const bool nan = magnitude > infinity_bits;
    const std::uint32_t positive = select(nan, Traits::nan, number);
    const std::uint32_t sign = select(nan, 0U, (bits >> 31) * Traits::sign);
    return Format{static_cast<typename Format::Bits>(positive | sign)};
  }
}

/// x rounded to `Format`, as a float.
template <class Format>
NBX_FUNCTION float narrow(float x) {
  return decode(encode<Format>(x));
}

}  // namespace nbx::tile
