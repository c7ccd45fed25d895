#include "oracle/format.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <limits>

namespace nbx::oracle {
namespace {

// Layout of the bit pattern as it is stored: sign | exponent | mantissa, `unused` low bits below the mantissa.
struct Layout {
  FormatTraits traits;
  int exponent_bits;
  int unused;
  constexpr int mantissa_bits() const { return traits.precision - 1; }
  constexpr int sign_bit() const { return unused + mantissa_bits() + exponent_bits; }
};

constexpr std::array<Layout, 6> kLayouts = {{
    {{4, 24, -126, 127, true}, 8, 0},   // f32
    {{2, 11, -14, 15, true}, 5, 0},     // f16
    {{2, 8, -126, 127, true}, 8, 0},    // bf16
    {{4, 11, -126, 127, true}, 8, 13},  // tf32
    {{1, 4, -6, 8, false}, 4, 0},       // e4m3fn: the all-ones exponent holds numbers, but for mantissa 111
    {{1, 3, -14, 15, true}, 5, 0},      // e5m2
}};

const Layout& layout(Format format) { return kLayouts[static_cast<std::size_t>(format)]; }

// 2^e for -1022 <= e <= 1023.
double power_of_two(int e) { return std::bit_cast<double>(static_cast<std::uint64_t>(e + 1023) << 52); }

// floor(log2 |value|) of a nonzero finite value.
int exponent_of(double value) {
  const auto biased = static_cast<int>(std::bit_cast<std::uint64_t>(value) >> 52 & 0x7FF);
  return biased == 0 ? std::ilogb(value) : biased - 1023;
}

}  // namespace

const FormatTraits& traits(Format format) { return layout(format).traits; }

double decode(Format format, std::uint32_t bits) {
  const Layout& f = layout(format);
  const std::uint32_t mantissa_mask = (1u << f.mantissa_bits()) - 1;
  const std::uint32_t exponent_mask = (1u << f.exponent_bits) - 1;
  const std::uint32_t mantissa = bits >> f.unused & mantissa_mask;
  const std::uint32_t exponent = bits >> (f.unused + f.mantissa_bits()) & exponent_mask;
  const bool negative = (bits >> f.sign_bit() & 1u) != 0;
  double magnitude;
  if (exponent == exponent_mask && f.traits.has_infinity) {
    magnitude = mantissa == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  } else if (!f.traits.has_infinity && exponent == exponent_mask && mantissa == mantissa_mask) {
    magnitude = std::numeric_limits<double>::quiet_NaN();
  } else if (exponent == 0) {
    magnitude = mantissa * power_of_two(f.traits.emin - f.mantissa_bits());
  } else {
    const auto significand = static_cast<double>(mantissa | 1u << f.mantissa_bits());
    magnitude = significand * power_of_two(static_cast<int>(exponent) - 1 + f.traits.emin - f.mantissa_bits());
  }
  return negative ? -magnitude : magnitude;
}

std::uint32_t encode(Format format, double value) {
  const Layout& f = layout(format);
  const std::uint32_t exponent_mask = (1u << f.exponent_bits) - 1;
  const int mantissa_bits = f.mantissa_bits();
  if (std::isnan(value)) {
    const std::uint32_t mantissa = f.traits.has_infinity ? 1u << (mantissa_bits - 1) : (1u << mantissa_bits) - 1;
    return (exponent_mask << mantissa_bits | mantissa) << f.unused;
  }
  const std::uint32_t sign = (std::signbit(value) ? 1u : 0u) << f.sign_bit();
  const double magnitude = std::fabs(value);
  if (magnitude >= power_of_two(f.traits.emin) && magnitude < power_of_two(f.traits.emax)) {
    // Normal, and 2^emax at most when rounded up. In the pattern of the double: half of the last place that is kept,
    // less one where that is even, is added, and a carry moves the exponent.
    const auto bits = std::bit_cast<std::uint64_t>(magnitude);
    const int dropped = 52 - mantissa_bits;
    const std::uint64_t kept = (bits + (std::uint64_t{1} << (dropped - 1)) - 1 + (bits >> dropped & 1)) >> dropped;
    const auto rebias = static_cast<std::uint64_t>(1023 + f.traits.emin - 1) << mantissa_bits;
    return sign | static_cast<std::uint32_t>(kept - rebias) << f.unused;
  }
  if (std::isinf(magnitude) && f.traits.has_infinity) {
    return sign | exponent_mask << (mantissa_bits + f.unused);
  }
  // Only a value at or above the midpoint behind the largest one rounds past it; both end at the largest one.
  const double clamped = std::fmin(magnitude, largest_finite(format));
  if (clamped == 0) return sign;
  const int e = std::max(exponent_of(clamped), f.traits.emin);
  // In units of the last place; exact, as only the exponent moves (upwards for subnormal doubles).
  const int up = mantissa_bits - e;
  const double scaled = up <= 1023 ? clamped * power_of_two(up) : std::ldexp(clamped, up);
  const auto significand = static_cast<std::uint32_t>(std::nearbyint(scaled));
  // A significand without its hidden bit is subnormal; one that rounded up to 2^p carries into the exponent by
  // addition.
  const std::uint32_t hidden = 1u << mantissa_bits;
  const std::uint32_t biased =
      significand < hidden
          ? significand
          : (static_cast<std::uint32_t>(e - f.traits.emin + 1) << mantissa_bits) + significand - hidden;
  return sign | biased << f.unused;
}

double narrow(Format format, double value) { return decode(format, encode(format, value)); }

double unit_roundoff(Format format) { return power_of_two(-traits(format).precision); }

double quantum(Format format) { return power_of_two(traits(format).emin - traits(format).precision + 1); }

double smallest_normal(Format format) { return power_of_two(traits(format).emin); }

double largest_finite(Format format) {
  const FormatTraits& f = traits(format);
  // e4m3fn gives its all-ones mantissa at emax to NaN.
  const int last_places = f.has_infinity ? 1 : 2;
  return (2 - last_places * power_of_two(1 - f.precision)) * power_of_two(f.emax);
}

double half_ulp(Format format, double value) { return HalfUlp(format)(std::fabs(value)); }

bool contains(Format outer, Format inner) {
  const FormatTraits& o = traits(outer);
  const FormatTraits& i = traits(inner);
  return o.precision >= i.precision && largest_finite(outer) >= largest_finite(inner) &&
         o.emin - o.precision <= i.emin - i.precision;
}

}  // namespace nbx::oracle
