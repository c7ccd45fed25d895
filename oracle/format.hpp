// The number formats, decoded from their definition. Shares nothing with kernels/.
#pragma once

#include <bit>
#include <cstdint>

namespace nbx::oracle {

/// f32, f16, bf16, tf32: IEEE-like, with Inf. e4m3: OCP e4m3fn (no Inf, NaN is S.1111.111, largest 448). e5m2:
/// IEEE-like.
enum class Format : std::uint8_t { f32, f16, bf16, tf32, e4m3, e5m2 };

/// p significant bits (the hidden one counted), normal exponents emin … emax of a value 1.f · 2^e.
struct FormatTraits {
  int bytes;      // of storage
  int precision;  // p
  int emin;
  int emax;
  bool has_infinity;
};

const FormatTraits& traits(Format format);

/// The exact value of a bit pattern; NaN for each NaN pattern. tf32 is stored in an f32 pattern: sign, 8 exponent bits
/// and the upper 10 mantissa bits; the lower 13 are ignored, as the matrix units ignore them.
double decode(Format format, std::uint32_t bits);

/// To nearest, ties to even. Finite values saturate at the largest finite one; ±Inf and NaN are kept (e4m3, which has
/// no Inf, saturates it). A NaN comes back as the one canonical pattern of its format.
std::uint32_t encode(Format format, double value);

/// encode, then decode.
double narrow(Format format, double value);

/// 2^-p.
double unit_roundoff(Format format);
/// The smallest subnormal.
double quantum(Format format);
double smallest_normal(Format format);
double largest_finite(Format format);
/// Half the distance between neighbours at |value|: the most that rounding to nearest moves it there.
double half_ulp(Format format, double value);

/// half_ulp of one format, in a form that compilers vectorise.
struct HalfUlp {
  double least, most, roundoff;  // smallest normal, largest finite, 2^-p
  explicit HalfUlp(Format format)
      : least(smallest_normal(format)), most(largest_finite(format)), roundoff(unit_roundoff(format)) {}
  /// `magnitude` >= 0; of the largest finite number for anything above, +inf included.
  double operator()(double magnitude) const {
    const double above = magnitude > least ? magnitude : least;
    const double within = above < most ? above : most;
    // The exponent bits alone are the power of two at or below.
    return std::bit_cast<double>(std::bit_cast<std::uint64_t>(within) & 0x7FF0000000000000) * roundoff;
  }
};

/// Every finite value of `inner` is one of `outer`: narrowing from inner to outer then moves nothing.
bool contains(Format outer, Format inner);

}  // namespace nbx::oracle
