#include "oracle/exp.hpp"

#include <cmath>
#include <limits>

namespace nbx::oracle {
namespace {

constexpr double kNothingKnown = std::numeric_limits<double>::infinity();

}  // namespace

Ball exp(const Ball& x) {
  const double value = certified_exp(x.value);
  const double farthest = std::fabs(x.value) + x.radius;
  if (!(farthest <= exp_domain)) {
    // Far below, the whole ball lies between 0 and e^(value + radius).
    if (x.value + x.radius < -exp_domain) return {0, 0x1p-860};
    return {value, kNothingKnown};
  }
  // e^(x + d) - e^x = e^x (e^d - 1), and |e^d - 1| <= e^|d| - 1 <= |d| (1 + |d|) for |d| <= 1.
  const double growth = x.radius <= 1 ? x.radius * (1 + x.radius) : certified_exp(x.radius);
  return {value, up(value * (growth + exp_relative_error) * (1 + 0x1p-49), 8)};
}

Ball log(const Ball& x) {
  const double smallest = (x.value - x.radius) * (1 - 0x1p-52);
  if (!(smallest > 0) || !std::isfinite(x.value)) return {std::log(x.value), kNothingKnown};
  // x = mantissa · 2^e with mantissa in [1/2, 1): both exact.
  int e = 0;
  const double mantissa = std::frexp(x.value, &e);
  const double y = std::log(mantissa);
  // 1 + d = mantissa · e^-y with relative error at most exp_relative_error + 2^-53, so |d| is known to twice that.
  const double d = std::fabs(mantissa * certified_exp(-y) - 1) + 2 * exp_relative_error;
  // |log(1 + d)| <= d / (1 - d); and log(x + t) - log x <= |t| / (x - |t|).
  const Ball of_mantissa{y, up(d / (1 - d), 8)};
  if (!(d < 0.5)) return {y, kNothingKnown};
  const Ball ln2{0x1.62e42fefa39efp-1, 0x1p-54};
  Ball result = of_mantissa + Ball{static_cast<double>(e), 0} * ln2;
  result.radius = up(result.radius + x.radius / smallest, 8);
  return result;
}

}  // namespace nbx::oracle
