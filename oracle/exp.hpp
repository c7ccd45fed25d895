// exp and log on doubles with proven bounds, in arithmetic that compilers vectorise: no table, no branch, no fma
// needed.
#pragma once

#include <bit>
#include <cstdint>

#include "oracle/ball.hpp"

namespace nbx::oracle {

/// |certified_exp(x) - e^x| <= exp_relative_error · e^x for |x| <= exp_domain. Below -exp_domain, -inf included, the
/// result is 0, off by less than 2^-865. Not for x > exp_domain, nor NaN.
///
/// Method: k = rint(x · log2 e), r = (x - k · ln2_hi) - k · ln2_lo, e^x = 2^k · T(r), T the Taylor polynomial of degree
/// 13 by Horner's rule. Bound, with u = 2^-53 and |r| <= ln2/2 + 2^-40 = R < 0.34658:
/// - Reduction. ln2_hi has 32 significant bits, so k · ln2_hi is exact (|k| < 2^10), and x - k · ln2_hi is exact by
///   Sterbenz's lemma. k · ln2_lo < 2^10 · 2^-32.4 is off by less than 2^-75 (its rounding, and the constant's), the
///   subtraction by u·R. Relative to e^x: at most 0.35 u.
/// - Truncation: sum over n > 13 of R^n / n! < 4.3e-18 = 0.039 u, relative to e^r >= 0.7071: 0.06 u.
/// - Horner: c_13 .. c_2 are rounded (u each, relative). With h_n = c_n + r · h_{n+1} computed, each step adds at most
///   u·|h_n| + u·|r h_{n+1}| + u·c_n to R times the error before. h_1 < 1.2 (as (e^R - 1)/R = 1.1956), h_2 < 0.57,
///   h_3 < 0.19, h_4 < 0.05, so err(h_4) < 0.2 u, err(h_3) < (0.19 + 0.02 + 0.17 + 0.07) u = 0.45 u,
///   err(h_2) < (0.57 + 0.07 + 0.16) u = 0.8 u, err(h_1) < (1.2 + 0.2 + 0.28) u = 1.68 u, and c_1 = c_0 = 1 are exact.
///   For r >= 0: err(h_0) < (1 + R·1.2) u + 0.42 u + 0.59 u < 2.43 u, relative to e^r >= h_0 / (1 + u) ... at r = R,
///   where err is largest, 1.72 u; for small r the terms with r vanish and the rounding of h_0 in [1, 2) is at most u.
///   For r < 0: h_0 < 1, so its rounding is at most u/2; |r h_1| <= R · 1 (as (1 - e^-R)/R < 1); err(h_1) < 1.3 u.
///   err(h_0) < (0.5 + 0.35 + 0.46) u = 1.31 u, relative to 0.7071: 1.86 u.
/// - Scaling by 2^k is exact: the result is normal.
/// In total below 2.3 u. Declared as 4 u.
inline constexpr double exp_relative_error = 0x1p-51;
inline constexpr double exp_domain = 600;

inline double certified_exp(double x) {
  constexpr double log2_e = 0x1.71547652b82fep0;
  constexpr double ln2_hi = 0x1.62e42feep-1;        // 32 significant bits of ln 2
  constexpr double ln2_lo = 0x1.a39ef35793c76p-33;  // ln 2 - ln2_hi
  constexpr double to_integer = 0x1.8p52;           // adding it rounds to an integer in the low mantissa bits
  const bool vanishes = x < -exp_domain;
  const double inside = vanishes ? -exp_domain : x;
  const double shifted = inside * log2_e + to_integer;
  const double k = shifted - to_integer;
  const double r = (inside - k * ln2_hi) - k * ln2_lo;
  double h = 1.0 / 6227020800;  // 1/13!
  h = 1.0 / 479001600 + r * h;
  h = 1.0 / 39916800 + r * h;
  h = 1.0 / 3628800 + r * h;
  h = 1.0 / 362880 + r * h;
  h = 1.0 / 40320 + r * h;
  h = 1.0 / 5040 + r * h;
  h = 1.0 / 720 + r * h;
  h = 1.0 / 120 + r * h;
  h = 1.0 / 24 + r * h;
  h = 1.0 / 6 + r * h;
  h = 0.5 + r * h;
  h = 1.0 + r * h;
  h = 1.0 + r * h;
  // The low bits of `shifted` hold k in two's complement: shifted into the exponent they add k to h's.
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(h) + (std::bit_cast<std::uint64_t>(shifted) << 52);
  return vanishes ? 0.0 : std::bit_cast<double>(bits);
}

/// e^x over the ball; radius +inf beyond |x| + radius > exp_domain upwards.
Ball exp(const Ball& x);

/// log x over the ball, x - radius > 0; +inf radius otherwise. The value is the host's log, held against certified_exp:
/// log x = y + log(x e^-y), and x e^-y - 1 is computed with a known error, whatever y is.
Ball log(const Ball& x);

}  // namespace nbx::oracle
