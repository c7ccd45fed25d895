#include "oracle/exp.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "oracle/plain.hpp"

namespace nbx::oracle::testing {
namespace {

using Real = PlainReal<256>;

/// |certified_exp(x) - e^x| / e^x.
double relative_error(double x) {
  const Real exact = exp(Real(x));
  const Real error = abs(Real(certified_exp(x)) - exact) / exact;
  return error.convert_to<double>();
}

class Worst {
 public:
  void look(double x) {
    const double error = relative_error(x);
    if (error > error_ || std::isnan(error)) error_ = error, x_ = x;
    ++count_;
  }
  void expect_within(double bound) const {
    EXPECT_GT(count_, 0);
    EXPECT_LE(error_, bound) << "at " << std::hexfloat << x_;
  }

 private:
  double error_ = 0, x_ = 0;
  int count_ = 0;
};

TEST(CertifiedExp, HoldsItsBoundOnRandomArguments) {
  std::mt19937_64 random(1);
  Worst worst;
  for (int i = 0; i < 40'000; ++i) worst.look(std::uniform_real_distribution<double>(-exp_domain, exp_domain)(random));
  for (int i = 0; i < 40'000; ++i) worst.look(std::uniform_real_distribution<double>(-12, 0)(random));
  for (int i = 0; i < 20'000; ++i) {
    worst.look(std::ldexp(std::uniform_real_distribution<double>(-1, 1)(random), -static_cast<int>(random() % 80)));
  }
  worst.expect_within(exp_relative_error);
}

/// Where the reduction turns over: x near (k + 1/2) ln 2, where |r| is largest, and near k ln 2, where it cancels.
TEST(CertifiedExp, HoldsItsBoundWhereTheReductionIsWorst) {
  const Real ln2 = log(Real(2));
  Worst worst;
  for (int k = -865; k <= 865; ++k) {
    for (const double part : {0.0, 0.5}) {
      double x = (ln2 * (k + part)).convert_to<double>();
      for (int step = -2; step <= 2; ++step) {
        double near = x;
        for (int i = 0; i < std::abs(step); ++i) near = std::nextafter(near, step < 0 ? -1e9 : 1e9);
        if (std::fabs(near) <= exp_domain) worst.look(near);
      }
    }
  }
  worst.expect_within(exp_relative_error);
}

TEST(CertifiedExp, EndsOfTheDomain) {
  Worst worst;
  for (const double x : {-exp_domain, exp_domain, 0.0, -0.0, 0x1p-1074, -0x1p-1074, 0x1p-53, -0x1p-54, 1.0, -1.0}) {
    worst.look(x);
  }
  worst.expect_within(exp_relative_error);
  EXPECT_EQ(certified_exp(0), 1);
  EXPECT_EQ(certified_exp(std::nextafter(-exp_domain, -1e9)), 0);
  EXPECT_EQ(certified_exp(-INFINITY), 0);
  EXPECT_EQ(certified_exp(-1e300), 0);
}

TEST(ExpBall, EnclosesTheWholeBall) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 8'000; ++i) {
    const double x = std::uniform_real_distribution<double>(-700, 10)(random);
    const double radius =
        std::ldexp(std::uniform_real_distribution<double>(0, 1)(random), 3 - static_cast<int>(random() % 70));
    const Ball result = exp(Ball{x, radius});
    if (std::isinf(result.radius)) continue;
    for (const Real& end : {Real(x) - radius, Real(x) + radius}) {
      ASSERT_LE(abs(exp(end) - result.value), Real(result.radius)) << x << " ± " << radius;
    }
  }
  EXPECT_TRUE(std::isinf(exp(Ball{NAN, 0}).radius));
  EXPECT_TRUE(std::isinf(exp(Ball{0, INFINITY}).radius));
}

TEST(LogBall, EnclosesTheWholeBall) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 8'000; ++i) {
    const double x =
        std::ldexp(std::uniform_real_distribution<double>(0.5, 1)(random), static_cast<int>(random() % 40) - 3);
    const double radius = i % 3 == 0 ? 0 : x * std::ldexp(0.9, -static_cast<int>(random() % 60));
    const Ball result = log(Ball{x, radius});
    ASSERT_FALSE(std::isinf(result.radius)) << x << " ± " << radius;
    for (const Real& end : {Real(x) - radius, Real(x) + radius}) {
      ASSERT_LE(abs(log(end) - result.value), Real(result.radius)) << x << " ± " << radius;
    }
  }
  const Ball one = log(Ball{1, 0});
  EXPECT_LE(std::fabs(one.value), one.radius);
  EXPECT_LE(log(Ball{1000, 0}).radius, 1e-14);
}

TEST(LogBall, KnowsNothingOfBallsThatReachZero) {
  for (const Ball& ball :
       {Ball{0, 0}, Ball{1, 1}, Ball{1, 2}, Ball{-1, 0}, Ball{NAN, 0}, Ball{1, NAN}, Ball{INFINITY, 0}}) {
    EXPECT_TRUE(std::isinf(log(ball).radius)) << ball.value << " ± " << ball.radius;
  }
}

}  // namespace
}  // namespace nbx::oracle::testing
