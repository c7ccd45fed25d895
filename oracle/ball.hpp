// A double with a radius: the set of reals within it. Every operation encloses the exact result for every choice of
// reals from its operands.
//
// No change of rounding mode: with round-to-nearest and u = 2^-53, fl(x) = x(1 + d) + e, |d| <= u, |e| <= 2^-1075. An
// operation adds to its radius u·|result| + 2^-1074 for its own rounding and then multiplies by 1 + 2^-50, which covers
// the (at most seven in a row) roundings made in computing the radius itself; 2^-1072 covers their underflows.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

namespace nbx::oracle {

struct Ball {
  double value = 0;
  double radius = 0;  // >= 0; +inf: nothing is known
};

namespace ball_detail {
inline constexpr double u = 0x1p-53;
/// `radius` with the rounding of a computed `value` added, rounded up. NaN anywhere gives +inf: nothing is known.
inline double rounded_up(double radius, double value) {
  const double r = (radius + u * std::fabs(value) + 0x1p-1074) * (1 + 0x1p-50) + 0x1p-1072;
  return r >= 0 ? r : std::numeric_limits<double>::infinity();
}
}  // namespace ball_detail

/// A radius from an expression of at most `operations` roundings over non-negative terms, rounded up.
inline double up(double radius, int operations = 4) {
  return radius * (1 + operations * 0x1p-52) + operations * 0x1p-1074;
}

inline Ball operator-(const Ball& a) { return {-a.value, a.radius}; }

inline Ball operator+(const Ball& a, const Ball& b) {
  const double value = a.value + b.value;
  return {value, ball_detail::rounded_up(a.radius + b.radius, value)};
}

inline Ball operator-(const Ball& a, const Ball& b) { return a + -b; }

inline Ball operator*(const Ball& a, const Ball& b) {
  // |xy - ab| <= |a| rb + |b| ra + ra rb. A radius of 0 beside an infinite value would give NaN: caught as +inf.
  const double value = a.value * b.value;
  return {value, ball_detail::rounded_up(
                     std::fabs(a.value) * b.radius + std::fabs(b.value) * a.radius + a.radius * b.radius, value)};
}

/// +inf radius where the divisor's ball holds 0.
inline Ball operator/(const Ball& a, const Ball& b) {
  // |x/y - a/b| <= (ra + |a/b| rb) / (|b| - rb). The quotient's own rounding in |a/b| is covered by the factor of `up`;
  // an underflow of the products counts before the division, as the divisor may be small.
  const double value = a.value / b.value;
  const double smallest = (std::fabs(b.value) - b.radius) * (1 - 0x1p-52);
  if (!(smallest > 0)) return {value, std::numeric_limits<double>::infinity()};
  return {value,
          ball_detail::rounded_up(
              up((a.radius + std::fabs(value) * b.radius + 0x1p-1074 * b.radius + 0x1p-1073) / smallest), value)};
}

/// Encloses both.
inline Ball hull(const Ball& a, const Ball& b) {
  return {a.value, up(std::fmax(a.radius, std::fabs(a.value - b.value) + b.radius))};
}

/// The radius of a sum of n computed terms in any order: each carries its own radius (their sum is `radii`), and the
/// additions add at most n·u/(1 - n·u) times the sum of magnitudes.
inline double sum_radius(double radii, double magnitudes, std::int64_t n) {
  const auto count = static_cast<double>(n);
  const double gamma = count * ball_detail::u / (1 - count * ball_detail::u);
  return (radii + gamma * magnitudes) * (1 + (count + 4) * 0x1p-52) + 0x1p-1074;
}

/// True only if every real of the ball lies within `bound` of `other`; NaN gives false.
inline bool within(const Ball& ball, double other, double bound) {
  return (std::fabs(ball.value - other) + ball.radius) * (1 + 0x1p-51) <= bound;
}

}  // namespace nbx::oracle
