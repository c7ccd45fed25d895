// The elementary functions of the tile layer, for float, with the same bits on both back ends: built from fma, sums and
// integer operations alone, without tables and without branches, so that loops over them vectorise.
//
// Needs IEEE arithmetic without contraction: -ffp-contract=off on the host, --fmad=false on the device, no fast-math,
// subnormals kept. Where an fma is meant it is written.
//
// Every `…_ulp` is the most that |result − exact| is of max(ulp(exact), 2^-149), ulp(v) = 2^(⌊log2 |v|⌋ − 23), over
// every float of the domain, and beside it the worst that a sweep over all 2^32 floats found, certified by MPFR:
//   cmake -DNBX_FULL_TESTS=ON …; ninja test_sweep; ./test_sweep
#pragma once

#include <bit>
#include <cstdint>

#include "kernels/tile/qualifiers.hpp"

#if defined(__FAST_MATH__)
#error "the tile layer's arithmetic is exact to the bit; fast-math is not"
#endif

namespace nbx::tile {

/// The one NaN that functions of this layer make.
inline constexpr std::uint32_t canonical_nan_bits = 0x7FFFFFFFU;
inline constexpr std::uint32_t infinity_bits = 0x7F800000U;

NBX_FUNCTION std::uint32_t bits_of(float x) {
#if NBX_DEVICE_CODE
  return __float_as_uint(x);
#else
  return std::bit_cast<std::uint32_t>(x);
#endif
}

NBX_FUNCTION float float_of(std::uint32_t bits) {
#if NBX_DEVICE_CODE
  return __uint_as_float(bits);
#else
  return std::bit_cast<float>(bits);
#endif
}

NBX_FUNCTION float canonical_nan() { return float_of(canonical_nan_bits); }
NBX_FUNCTION float infinity() { return float_of(infinity_bits); }
NBX_FUNCTION bool is_nan(float x) { return !(x == x); }
NBX_FUNCTION bool is_finite(float x) { return (bits_of(x) & 0x7FFFFFFFU) < infinity_bits; }

/// Where `condition` holds, `yes`, else `no`: both are computed. On the host by a mask, since g++ keeps a branch where
/// floating-point comparisons might trap, and then vectorises no loop around it.
NBX_FUNCTION std::uint32_t select(bool condition, std::uint32_t yes, std::uint32_t no) {
#if NBX_DEVICE_CODE
  return condition ? yes : no;
#else
  const std::uint32_t mask = 0U - static_cast<std::uint32_t>(condition);
  return no ^ ((yes ^ no) & mask);
#endif
}

NBX_FUNCTION float select(bool condition, float yes, float no) {
  return float_of(select(condition, bits_of(yes), bits_of(no)));
}

namespace detail {

/// fma for hosts without the instruction: a·b is exact in double (48 bits), the sum is rounded to odd there, and a sum
/// of 53 bits rounded to odd rounds to 24 bits or fewer as the exact one does (Boldo and Melquiond, 2008). Inline,
/// where libm's fmaf is a call that no loop vectorises through.
inline float fma_through_double(float a, float b, float c) {
  const double product = static_cast<double>(a) * static_cast<double>(b);
  const double addend = c;
  const double sum = product + addend;
  // Knuth's two-sum: sum + error = product + addend exactly. NaN where sum is not finite, and then no step is taken.
  const double of_addend = sum - product;
  const double error = (product - (sum - of_addend)) + (addend - of_addend);
  std::uint64_t bits = std::bit_cast<std::uint64_t>(sum);
  // An even significand steps to the odd neighbour on the side of the exact sum: outward +1, inward −1.
  const std::uint64_t inexact = static_cast<std::uint64_t>(error < 0) | static_cast<std::uint64_t>(error > 0);
  const std::uint64_t inward = static_cast<std::uint64_t>(error < 0) ^ static_cast<std::uint64_t>(sum < 0);
  bits += (1U - 2U * inward) * (inexact & ~bits);
  return static_cast<float>(std::bit_cast<double>(bits));
}

}  // namespace detail

/// a·b + c, rounded once.
NBX_FUNCTION float fma(float a, float b, float c) {
#if NBX_DEVICE_CODE
  return __fmaf_rn(a, b, c);
#elif defined(__FMA__) || defined(__ARM_FEATURE_FMA)
  return __builtin_fmaf(a, b, c);
#else
  return detail::fma_through_double(a, b, c);
#endif
}

inline constexpr double divide_ulp = 0.5;

/// a / b, rounded once whatever the compiler's flags for division.
NBX_FUNCTION float divide(float a, float b) {
#if NBX_DEVICE_CODE
  return __fdiv_rn(a, b);
#else
  return a / b;
#endif
}

/// The larger; NaN if either is; −0 < +0.
NBX_FUNCTION float max_nan(float a, float b) {
  // Equal values differ in the sign of zero at most, and then the AND of their bits is +0.
  const float equal = float_of(bits_of(a) & bits_of(b));
  const float larger = select(a > b, a, select(b > a, b, equal));
  return select(is_nan(a) || is_nan(b), canonical_nan(), larger);
}

/// The smaller; NaN if either is; −0 < +0.
NBX_FUNCTION float min_nan(float a, float b) {
  const float equal = float_of(bits_of(a) | bits_of(b));
  const float smaller = select(a < b, a, select(b < a, b, equal));
  return select(is_nan(a) || is_nan(b), canonical_nan(), smaller);
}

/// x clamped to [low, high] as floats, then truncated towards zero; NaN gives low. Both ends must be exact as float.
NBX_FUNCTION std::int32_t to_int_clamped(float x, std::int32_t low, std::int32_t high) {
  const float least = static_cast<float>(low);
  const float most = static_cast<float>(high);
  const float raised = select(x > least, x, least);
  return static_cast<std::int32_t>(select(raised < most, raised, most));
}

namespace detail {

/// 1.5 · 2^23: adding it to |x| < 2^22 rounds x to the nearest integer, and leaves that in the low bits.
inline constexpr float round_shift = 0x1.8p23F;
inline constexpr std::uint32_t round_shift_bits = 0x4B400000U;
inline constexpr std::uint32_t exponent_one = 1U << 23;

/// 2^n · (1 + high + low): `high` exact, |high| < 0.4, low its small correction; n in −149 … 127; negative: high < 0.
/// A normal result is rounded once. So is a subnormal one: with shift = 2^(−126−n) added, the last place of the sum is
/// the one of 2^-149 / 2^n, and the sum's fraction field is the result's encoding.
/// `one` = 1 + shift has been part of the caller's sum; here that sum is put together.
struct Scaling {
  float one;            // 1, or 1 + shift for a subnormal result
  std::uint32_t added;  // to the sum's bits
};

NBX_FUNCTION Scaling scaling(std::int32_t n, bool below_one) {
  const bool subnormal = n + 126 < static_cast<std::int32_t>(below_one);
  const std::uint32_t exponent = static_cast<std::uint32_t>(n) * exponent_one;
  const float shift = float_of(select(subnormal, exponent_one - exponent, 0U));
  return {1.0F + shift, exponent - select(subnormal, exponent_one, 0U)};
}

NBX_FUNCTION float clamped(float x, float low, float high) {
  const float raised = select(x < low, low, x);
  return select(raised > high, high, raised);
}

}  // namespace detail

/// Worst 0.621627, at -0x1.cf2d0ap-2.
inline constexpr double exp2_ulp = 0.622;

/// 2^x for every float. x ≥ 128 gives +Inf, a result under half of 2^-149 gives +0.
NBX_FUNCTION float exp2(float x) {
  using namespace detail;
  const float inside = clamped(x, -151.0F, 127.99999F);
  const float kept = select(inside < -149.0F, -149.0F, inside);
  // x = n + r, exactly; |r| ≤ 1/2, but for −2 ≤ r where the result is 0 or 2^-149.
  const float shifted = kept + round_shift;
  const std::int32_t n = static_cast<std::int32_t>(bits_of(shifted) - round_shift_bits);
  const float r = inside - (shifted - round_shift);
  const Scaling scale = scaling(n, r < 0.0F);
  // 2^r = 1 + r·ln 2 + r²·q(r); head + tail = one + r·ln2_high but for the rounding of the tail.
  const float ln2_high = 0x1.62e43p-1F;
  const float ln2_low = -0x1.05c61p-29F;
  const float head = fma(r, ln2_high, scale.one);
  const float tail = fma(r, ln2_high, scale.one - head);
  float q = 0x1.416f4p-13F;
  q = fma(q, r, 0x1.5f0418p-10F);
  q = fma(q, r, 0x1.3b2ddcp-7F);
  q = fma(q, r, 0x1.c6af88p-5F);
  q = fma(q, r, 0x1.ebfbdcp-3F);
  const float sum = head + fma(r, fma(r, q, ln2_low), tail);
  const float result = float_of(bits_of(sum) + scale.added);
  const float saturated = select(x >= 128.0F, infinity(), result);
  return select(is_nan(x), canonical_nan(), saturated);
}

/// Worst 0.639155, at -0x1.390e6cp+5.
inline constexpr double exp_ulp = 0.64;

/// e^x for every float.
NBX_FUNCTION float exp(float x) {
  using namespace detail;
  const float most = 0x1.62e42ep6F;  // the last x whose e^x is under 2^128
  const float inside = clamped(x, -104.75F, most);
  const float kept = select(inside < -103.25F, -103.25F, inside);  // n ≥ −149
  const float shifted = fma(kept, 0x1.715476p0F, round_shift);
  const std::int32_t n = static_cast<std::int32_t>(bits_of(shifted) - round_shift_bits);
  const float count = shifted - round_shift;
  // x − n·ln 2 = r + r_low. The first step is exact: x and n·ln2_high are multiples of one power of two, and near.
  const float ln2_high = 0x1.62e43p-1F;
  const float ln2_low = -0x1.05c61p-29F;
  const float reduced = fma(-count, ln2_high, inside);
  const float r = fma(-count, ln2_low, reduced);
  const float r_low = fma(-count, ln2_low, reduced - r);
  const Scaling scale = scaling(n, r < 0.0F);
  // e^(r + r_low) = 1 + r + r²·q(r) + r_low·(1 + r); head + tail = one + r exactly.
  const float head = scale.one + r;
  const float tail = (scale.one - head) + r;
  float q = 0x1.6a623p-10F;
  q = fma(q, r, 0x1.123ac6p-7F);
  q = fma(q, r, 0x1.55589ep-5F);
  q = fma(q, r, 0x1.555490p-3F);
  q = fma(q, r, 0x1.fffffcp-2F);
  const float sum = head + fma(r, fma(r, q, r_low), tail + r_low);
  const float result = float_of(bits_of(sum) + scale.added);
  const float saturated = select(x > most, infinity(), result);
  return select(is_nan(x), canonical_nan(), saturated);
}

namespace detail {

/// x = 2^exponent · m, √½ ≤ m < √2; ln m = high + low, low under an ulp or so of high.
struct Logarithm {
  float exponent;
  float high;
  float low;
};

/// For positive finite x, subnormal ones included.
NBX_FUNCTION Logarithm logarithm(float x) {
  const bool subnormal = x < 0x1p-126F;
  const float normal = select(subnormal, x * 0x1p24F, x);
  const std::uint32_t root_half = 0x3F3504F3U;  // √½, rounded down
  const std::uint32_t above = bits_of(normal) - root_half;
  const std::int32_t exponent = static_cast<std::int32_t>(above) >> 23;
  const float m = float_of((above & (exponent_one - 1U)) + root_half);
  // ln(1 + f) = f − f²/2 + f³·q(f), f exact; f − f²/2 is kept as a pair.
  const float f = m - 1.0F;
  const float square = fma(f, f, -0.0F);
  const float square_low = fma(f, f, -square);
  const float high = fma(-0.5F, square, f);
  const float rest = fma(-0.5F, square, f - high);
  float q = -0x1.e2c6b2p-5F;
  q = fma(q, f, 0x1.afe4d0p-4F);
  q = fma(q, f, -0x1.bb0906p-4F);
  q = fma(q, f, 0x1.c4d9c0p-4F);
  q = fma(q, f, -0x1.fd078ap-4F);
  q = fma(q, f, 0x1.248672p-3F);
  q = fma(q, f, -0x1.556254p-3F);
  q = fma(q, f, 0x1.999a6ap-3F);
  q = fma(q, f, -0x1.ffffdcp-3F);
  q = fma(q, f, 0x1.555554p-2F);
  const float cube = fma(square, f, -0.0F);
  const float low = fma(cube, q, fma(-0.5F, square_low, rest));
  return {static_cast<float>(exponent - 24 * static_cast<std::int32_t>(subnormal)), high, low};
}

/// What a logarithm is where x is not positive and finite.
NBX_FUNCTION float logarithm_or_special(float x, float finite) {
  const float of_positive = select(x == infinity(), infinity(), finite);
  return select(x > 0.0F, of_positive, select(x == 0.0F, -infinity(), canonical_nan()));
}

}  // namespace detail

/// Worst 0.613090, at 0x1.698bdcp-1.
inline constexpr double log_ulp = 0.614;

/// ln x. ±0 gives −Inf, a negative x NaN.
NBX_FUNCTION float log(float x) {
  const detail::Logarithm part = detail::logarithm(x);
  // exponent · ln2_high is exact: 8 and 15 bits.
  const float ln2_high = 0x1.62e4p-1F;
  const float ln2_low = 0x1.7f7d1cp-20F;
  const float whole = fma(part.exponent, ln2_high, -0.0F);
  const float sum = whole + part.high;
  const float rest = (whole - sum) + part.high;
  return detail::logarithm_or_special(x, sum + (fma(part.exponent, ln2_low, rest) + part.low));
}

/// Worst 0.650997, at 0x1.69a1dp+0.
inline constexpr double log2_ulp = 0.651;

/// log2 x. ±0 gives −Inf, a negative x NaN; exact for powers of two.
NBX_FUNCTION float log2(float x) {
  const detail::Logarithm part = detail::logarithm(x);
  const float log2e_high = 0x1.715476p0F;
  const float log2e_low = 0x1.4ae0cp-26F;
  const float high = part.high + part.low;
  const float low = part.low - (high - part.high);
  const float product = fma(high, log2e_high, -0.0F);
  const float product_low = fma(low, log2e_high, fma(high, log2e_low, fma(high, log2e_high, -product)));
  const float sum = part.exponent + product;
  const float rest = (part.exponent - sum) + product;
  return detail::logarithm_or_special(x, sum + (rest + product_low));
}

}  // namespace nbx::tile
