#include "function_error.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <boost/multiprecision/mpfr.hpp>
#include <cmath>
#include <cstdio>
#include <limits>
#include <thread>
#include <vector>

#include "kernels/tile/functions.hpp"

namespace nbx::tests {
namespace {

using Real = boost::multiprecision::number<boost::multiprecision::mpfr_float_backend<77>>;  // 256 bits

constexpr double wrong_class = std::numeric_limits<double>::infinity();
/// From here on nearest rounding gives Inf: the largest float and half of its last place.
constexpr double overflow = 0x1.ffffffp127;

/// The error of `actual` where the exact result is NaN or overflows, or where `actual` is no number; else −1.
double error_of_class(float actual, bool exact_is_nan, bool exact_overflows, bool negative) {
  if (exact_is_nan) return tile::bits_of(actual) == tile::canonical_nan_bits ? 0 : wrong_class;
  const float infinity = negative ? -std::numeric_limits<float>::infinity() : std::numeric_limits<float>::infinity();
  if (exact_overflows) return actual == infinity ? 0 : wrong_class;
  return std::isfinite(actual) ? -1 : wrong_class;
}

/// An upper bound of the error, from a reference within 2^-50 of the exact result.
double error_at_most(float actual, double reference) {
  const double magnitude = std::abs(reference);
  if (std::abs(magnitude / overflow - 1) < 0x1p-49) return wrong_class;  // open: MPFR decides
  const double of_class = error_of_class(actual, std::isnan(reference), magnitude >= overflow, reference < 0);
  if (of_class >= 0) return of_class;
  // Just under a power of two the ulp of the exact result may be the smaller one.
  const double lower = magnitude * (1 - 0x1p-49);
  const double binade = std::bit_cast<double>(std::bit_cast<std::uint64_t>(lower) & 0x7FF0'0000'0000'0000U);
  const double ulp = std::max(binade * 0x1p-23, 0x1p-149);
  return std::abs(actual - reference) / ulp + 0x1p-24;
}

double exp2_of(double x) { return std::exp2(x); }
double exp_of(double x) { return std::exp(x); }
double log2_of(double x) { return std::log2(x); }
double log_of(double x) { return std::log(x); }

}  // namespace

// constinit: other translation units make their tests from it before main.
constinit const std::array<Function, 4> functions = {{
    {"exp2", tile::exp2, exp2_of, mpfr_exp2, tile::exp2_ulp},
    {"exp", tile::exp, exp_of, mpfr_exp, tile::exp_ulp},
    {"log2", tile::log2, log2_of, mpfr_log2, tile::log2_ulp},
    {"log", tile::log, log_of, mpfr_log, tile::log_ulp},
}};

Worst worse_of(const Worst& a, const Worst& b) {
  Worst worse = b.ulp > a.ulp ? b : a;
  worse.checked = a.checked + b.checked;
  worse.certified = a.certified + b.certified;
  return worse;
}

double certified_error(const Function& function, float x) {
  const float actual = function.computed(x);
  const Real argument = x;
  Real exact;
  function.exact(exact.backend().data(), argument.backend().data(), MPFR_RNDN);
  const bool is_nan = mpfr_nan_p(exact.backend().data()) != 0;
  const Real magnitude = abs(exact);
  const double of_class = error_of_class(actual, is_nan, !is_nan && magnitude >= overflow, !is_nan && exact < 0);
  if (of_class >= 0) return of_class;
  // MPFR's exponent is that of a significand in [½, 1).
  const long exponent = exact == 0 ? -149 : std::max(mpfr_get_exp(exact.backend().data()) - 24, -149L);
  return static_cast<double>(ldexp(abs(Real(actual) - exact), static_cast<int>(-exponent)));
}

void measure(const Function& function, std::uint32_t bits, Worst& worst) {
  const float x = tile::float_of(bits);
  ++worst.checked;
  // An infinite bound is certified each time, until one such error is known.
  if (error_at_most(function.computed(x), function.reference(x)) <= worst.ulp) return;
  ++worst.certified;
  const double error = certified_error(function, x);
  if (error <= worst.ulp) return;
  worst.ulp = error;
  worst.at = bits;
}

Worst measure_range(const Function& function, std::uint32_t first, std::uint64_t count, std::uint32_t step) {
  const std::uint64_t threads = std::max(1U, std::thread::hardware_concurrency());
  std::vector<Worst> parts(threads);
  std::vector<std::thread> pool;
  for (std::uint64_t t = 0; t < threads; ++t) {
    pool.emplace_back([&, t] {
      Worst part;
      for (std::uint64_t i = count * t / threads; i < count * (t + 1) / threads; ++i) {
        measure(function, first + static_cast<std::uint32_t>(i) * step, part);
      }
      parts[t] = part;
      mpfr_free_cache();
    });
  }
  for (std::thread& thread : pool) thread.join();
  Worst worst;
  for (const Worst& part : parts) worst = worse_of(worst, part);
  return worst;
}

void expect_within_bound(const Function& function, const Worst& worst) {
  const float x = tile::float_of(worst.at);
  std::printf("%s: worst %.6f ulp of at most %.6f, at 0x%08X = %a, result %a; %llu floats, %llu by MPFR\n",
              function.name, worst.ulp, function.ulp, worst.at, static_cast<double>(x),
              static_cast<double>(function.computed(x)), static_cast<unsigned long long>(worst.checked),
              static_cast<unsigned long long>(worst.certified));
  EXPECT_LE(worst.ulp, function.ulp) << function.name << "(" << x << ")";
  // A filter that lets everything pass would find no error above one half, and no function rounds that well.
  EXPECT_GT(worst.ulp, 0.5);
  EXPECT_GT(worst.certified, 0U);
}

}  // namespace nbx::tests
