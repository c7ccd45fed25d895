// Numbers of two doubles, the first level above double of a refinement.
#pragma once

#include <cmath>

namespace nbx::oracle {

/// hi + lo with |lo| <= ulp(hi) / 2. Each operation below has a relative error of at most 2^-102: the algorithms and
/// the bounds 3u², 5u² and 15u² (u = 2^-53) are those of Joldes, Muller and Popescu, "Tight and rigorous error bounds
/// for basic building blocks of double-word arithmetic", ACM TOMS 44 (2017), algorithms 6, 12 and 17. They hold while
/// nothing overflows or underflows; an underflow adds at most 2^-1070.
struct DoubleDouble {
  double hi = 0, lo = 0;

  DoubleDouble() = default;
  DoubleDouble(double value) : hi(value) {}  // NOLINT: exact, and as implicit as between built-in numbers
  DoubleDouble(double high, double low) : hi(high), lo(low) {}
};

/// a + b exactly, as a rounded sum and its error.
inline DoubleDouble two_sum(double a, double b) {
  const double sum = a + b;
  const double b_part = sum - a;
  const double a_part = sum - b_part;
  return {sum, (a - a_part) + (b - b_part)};
}

/// The same where |a| >= |b|.
inline DoubleDouble fast_two_sum(double a, double b) {
  const double sum = a + b;
  return {sum, b - (sum - a)};
}

inline DoubleDouble operator-(const DoubleDouble& x) { return {-x.hi, -x.lo}; }

inline DoubleDouble operator+(const DoubleDouble& x, const DoubleDouble& y) {
  const DoubleDouble high = two_sum(x.hi, y.hi);
  const DoubleDouble low = two_sum(x.lo, y.lo);
  const DoubleDouble sum = fast_two_sum(high.hi, high.lo + low.hi);
  return fast_two_sum(sum.hi, low.lo + sum.lo);
}

inline DoubleDouble operator-(const DoubleDouble& x, const DoubleDouble& y) { return x + -y; }

inline DoubleDouble operator*(const DoubleDouble& x, const DoubleDouble& y) {
  const double product = x.hi * y.hi;
  const double error = std::fma(x.hi, y.hi, -product);
  const double cross = std::fma(x.lo, y.hi, std::fma(x.hi, y.lo, x.lo * y.lo));
  return fast_two_sum(product, error + cross);
}

inline DoubleDouble operator/(const DoubleDouble& x, const DoubleDouble& y) {
  const double quotient = x.hi / y.hi;
  const DoubleDouble remainder = x - y * DoubleDouble(quotient);
  return fast_two_sum(quotient, (remainder.hi + remainder.lo) / y.hi);
}

inline DoubleDouble ldexp(const DoubleDouble& x, int exponent) {
  return {std::ldexp(x.hi, exponent), std::ldexp(x.lo, exponent)};
}

}  // namespace nbx::oracle
