// Real arithmetic beyond double, with what is proven of it: double-double, and binary floats of N bits.
#pragma once

#include <algorithm>
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <cstdint>
#include <vector>

#include "oracle/double_double.hpp"

namespace nbx::oracle {

/// N significant bits; + - * / are correctly rounded.
template <unsigned N>
using BinaryFloat =
    boost::multiprecision::number<boost::multiprecision::cpp_bin_float<N, boost::multiprecision::digit_base_2>,
                                  boost::multiprecision::et_off>;

/// What the algorithms below need to know of an arithmetic.
template <class Real>
struct WideTraits;

template <>
struct WideTraits<DoubleDouble> {
  static constexpr int bits = 102;                // an operation's relative error is at most 2^-bits
  static constexpr int halvings = 5;              // of exp's argument
  static constexpr double cutoff = 650;           // weights below exp(-cutoff) are taken as 0
  static constexpr double tail = 0x1p-937;        // exp(-cutoff) is less
  static constexpr double underflow = 0x1p-1069;  // absolute error of a multiplication and addition beside the relative
};

template <unsigned N>
struct WideTraits<BinaryFloat<N>> {
  static constexpr int bits = N;
  static constexpr int halvings = N < 256 ? 8 : N < 1024 ? 12 : N < 2048 ? 20 : 32;
  static constexpr double cutoff = 1500;
  static constexpr double tail = 0x1p-1074;  // exp(-1500) < 2^-2164
  static constexpr double underflow = 0;     // the exponent has 31 bits
};

/// A double that is at least 2^-bits.
template <class Real>
double roundoff() {
  return std::ldexp(1.0, -std::min(WideTraits<Real>::bits, 1000));
}

inline double to_double(const DoubleDouble& x) { return x.hi; }
template <unsigned N>
double to_double(const BinaryFloat<N>& x) {
  return x.template convert_to<double>();
}

/// integer · 2^exponent with a relative error of at most 3 roundoffs: the leading words only, of which the last two
/// additions may round.
template <class Real, class Integer>
Real to_real(const Integer& integer, int exponent) {
  constexpr int word = 48;  // exact in a double
  constexpr int words = WideTraits<Real>::bits / word + 2;
  if (integer == 0) return Real(0.0);
  const Integer magnitude = integer < 0 ? Integer(-integer) : integer;
  int position = static_cast<int>(msb(magnitude)) + 1;  // bits above it are taken
  Real result(0.0);
  for (int taken = 0; taken < words && position > 0; ++taken) {
    const int width = std::min(word, position);
    position -= width;
    const Integer part = (magnitude >> position) & Integer((std::uint64_t{1} << width) - 1);
    result = ldexp(result, width) + Real(static_cast<double>(static_cast<std::uint64_t>(part)));
  }
  result = ldexp(result, position + exponent);
  return integer < 0 ? Real(-result) : result;
}

/// ln 2 = Σ 2^-k / k, with a relative error of at most 4 roundoffs.
template <class Real>
const Real& ln2() {
  static const Real value = [] {
    constexpr int fraction_bits = WideTraits<Real>::bits + 64;  // each of the terms is cut by less than one unit of it
    boost::multiprecision::cpp_int sum = 0;
    for (int k = 1; k <= fraction_bits; ++k) {
      sum += (boost::multiprecision::cpp_int(1) << (fraction_bits - k)) / k;
    }
    return to_real<Real>(sum, -fraction_bits);
  }();
  return value;
}

/// 1 / j! for as many j as exp's Taylor polynomial needs.
template <class Real>
const std::vector<Real>& inverse_factorials() {
  static const std::vector<Real> table = [] {
    const double log2_argument = std::log2(0.36) - WideTraits<Real>::halvings;
    std::vector<Real> values{Real(1.0)};
    for (double log2_term = 0; log2_term > -(WideTraits<Real>::bits + 4.0);) {
      const double j = static_cast<double>(values.size());
      values.push_back(values.back() / Real(j));
      log2_term += log2_argument - std::log2(j);
    }
    return values;
  }();
  return table;
}

/// Relative error of exponential() for an argument with a relative error of 9 roundoffs, |argument| <= cutoff.
/// The reduced argument r = t - k ln 2 is off by at most 15 u (|t| + 1) absolutely, so exp(r) by twice that relatively.
/// Horner's scheme in y = r / 2^h, |y| <= 2^-6, over coefficients with errors of at most j·u at the j-th, which is
/// multiplied by y^j, is off by at most 6 u with its remainder; each of the h squarings doubles the error and adds u.
template <class Real>
double exponential_error() {
  return roundoff<Real>() * (30 * (WideTraits<Real>::cutoff + 1) + std::ldexp(8.0, WideTraits<Real>::halvings));
}

/// exp(t) for |t| <= cutoff.
template <class Real>
Real exponential(const Real& t) {
  const double k = std::nearbyint(to_double(t) / 0x1.62e42fefa39efp-1);
  const Real y = ldexp(Real(t - Real(k) * ln2<Real>()), -WideTraits<Real>::halvings);
  const std::vector<Real>& coefficients = inverse_factorials<Real>();
  Real result = coefficients.back();
  for (std::size_t j = coefficients.size() - 1; j-- > 0;) result = result * y + coefficients[j];
  for (int step = 0; step < WideTraits<Real>::halvings; ++step) result = result * result;
  return ldexp(result, static_cast<int>(k));
}

/// log(x) for 1/2 <= x <= 2^40, and a bound of its absolute error, the error of x itself apart. Certified after the
/// fact: with d = x·exp(-y) - 1 it is y + log(1 + d), and |log(1 + d) - d| <= d² where |d| <= 1/2.
template <class Real>
Real logarithm(const Real& x, double* error) {
  Real y(std::log(to_double(x)));
  for (int step = 0;; ++step) {
    const Real d = x * exponential(Real(-y)) - Real(1.0);
    const double distance = std::fabs(to_double(d)) * (1 + 0x1p-50);
    y = y + d;
    *error = distance * distance + 2 * (exponential_error<Real>() + 2 * roundoff<Real>()) +
             roundoff<Real>() * (std::fabs(to_double(y)) + 1) * 2;
    if (distance * distance <= roundoff<Real>() || step == 12) return y;
  }
}

}  // namespace nbx::oracle
