#include "oracle/ball.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "oracle/plain.hpp"

namespace nbx::oracle::testing {
namespace {

using Real = PlainReal<512>;

bool encloses(const Ball& ball, const Real& exact) {
  if (std::isinf(ball.radius)) return ball.radius > 0;
  if (!std::isfinite(ball.value) || !(ball.radius >= 0)) return false;
  return abs(exact - ball.value) <= ball.radius;
}

/// Values and radii of every size that the oracle meets, and the edges of double.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed) {}

  double value() {
    switch (random_() % 8) {
      case 0:
        return 0;
      case 1:
        return scaled(-1074, -1015);
      case 2:
        return scaled(-200, 200);
      case 3:
        return scaled(400, 500);
      default:
        return scaled(-20, 20);
    }
  }
  double radius(double value) {
    switch (random_() % 5) {
      case 0:
        return 0;
      case 1:
        return 0x1p-1074;
      case 2:
        return std::fabs(value) * 0x1p-53;
      case 3:
        return std::fabs(value) * std::ldexp(1.0, -static_cast<int>(random_() % 60));
      default:
        return std::fabs(scaled(-30, 3));
    }
  }
  Ball ball() {
    const double v = value();
    return {v, radius(v)};
  }

 private:
  double scaled(int lowest, int highest) {
    const int exponent = lowest + static_cast<int>(random_() % static_cast<std::uint64_t>(highest - lowest + 1));
    return std::ldexp(std::uniform_real_distribution<double>(-1, 1)(random_), exponent);
  }
  std::mt19937_64 random_;
};

/// The ends and the middle of a ball, where the extremes of sums, products and quotients lie.
std::vector<Real> points(const Ball& ball) {
  return {Real(ball.value) - ball.radius, Real(ball.value), Real(ball.value) + ball.radius};
}

TEST(Ball, EverySumProductAndQuotientIsEnclosed) {
  Draw draw(1);
  int divided = 0;
  for (int i = 0; i < 60'000; ++i) {
    const Ball a = draw.ball(), b = draw.ball();
    const Ball sum = a + b, difference = a - b, product = a * b, quotient = a / b;
    for (const Real& x : points(a)) {
      for (const Real& y : points(b)) {
        ASSERT_TRUE(encloses(sum, x + y)) << a.value << " ± " << a.radius << " + " << b.value << " ± " << b.radius;
        ASSERT_TRUE(encloses(difference, x - y));
        ASSERT_TRUE(encloses(product, x * y)) << a.value << " ± " << a.radius << " * " << b.value << " ± " << b.radius;
        if (std::isinf(quotient.radius)) continue;
        ++divided;
        ASSERT_TRUE(encloses(quotient, x / y)) << a.value << " ± " << a.radius << " / " << b.value << " ± " << b.radius;
      }
    }
  }
  EXPECT_GT(divided, 100'000);
}

TEST(Ball, RadiiStayNearTheLeastPossible) {
  const Ball a{3, 0x1p-60}, b{7, 0x1p-61};
  EXPECT_LE((a + b).radius, (0x1p-60 + 0x1p-61 + 10 * 0x1p-53) * 1.0001);
  EXPECT_LE((a * b).radius, (7 * 0x1p-60 + 3 * 0x1p-61 + 21 * 0x1p-53) * 1.0001);
  EXPECT_LE((a / b).radius, 0x1p-53);
}

TEST(Ball, DivisionByABallWithZeroKnowsNothing) {
  EXPECT_TRUE(std::isinf((Ball{1, 0} / Ball{0, 0}).radius));
  EXPECT_TRUE(std::isinf((Ball{1, 0} / Ball{0x1p-3, 0x1p-3}).radius));
  EXPECT_TRUE(std::isinf((Ball{1, 0} / Ball{-0x1p-3, 1}).radius));
}

TEST(Ball, NaNAndInfinityKnowNothing) {
  for (const double odd : {NAN, INFINITY, -INFINITY}) {
    for (const Ball& result : {Ball{odd, 0} + Ball{1, 0}, Ball{odd, 0} * Ball{0, 0}, Ball{1, 0} - Ball{odd, 1}}) {
      EXPECT_TRUE(std::isinf(result.radius) || !std::isfinite(result.value)) << odd;
      EXPECT_FALSE(within(result, 0, 1e300));
    }
  }
  EXPECT_FALSE(within({NAN, 0}, 0, 1));
  EXPECT_FALSE(within({0, NAN}, 0, 1));
  EXPECT_FALSE(within({0, 0}, NAN, 1));
  EXPECT_FALSE(within({0, 0}, 0, NAN));
}

TEST(Ball, HullHoldsBoth) {
  Draw draw(2);
  for (int i = 0; i < 20'000; ++i) {
    const Ball a = draw.ball(), b = draw.ball(), both = hull(a, b);
    for (const Real& x : points(a)) ASSERT_TRUE(encloses(both, x));
    for (const Real& x : points(b)) ASSERT_TRUE(encloses(both, x));
  }
}

TEST(Ball, SumRadiusCoversSumsInAnyOrder) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 300; ++round) {
    const auto n = static_cast<std::int64_t>(1 + random() % 400);
    double sum = 0, magnitudes = 0;
    Real exact = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      const double term = std::ldexp(std::normal_distribution<double>()(random), static_cast<int>(random() % 60) - 30);
      sum += term;
      exact += term;
      magnitudes += std::fabs(term);
    }
    ASSERT_TRUE(encloses({sum, sum_radius(0, magnitudes, n)}, exact));
  }
  // Cancellation: 2^53 + 1 - 2^53 in double is 0 or 1 by order, and the radius says so.
  EXPECT_GE(sum_radius(0, 0x1p54, 3), 1);
}

TEST(Ball, UpCoversItsRoundings) {
  std::mt19937_64 random(4);
  for (int i = 0; i < 20'000; ++i) {
    const double a = std::ldexp(std::uniform_real_distribution<double>(0, 1)(random), static_cast<int>(random() % 40));
    const double b = std::uniform_real_distribution<double>(0, 1)(random), c = 1 + b, d = 3 + a;
    ASSERT_GE(Real(up((a + b) * c / d)), (Real(a) + b) * c / d);
  }
}

}  // namespace
}  // namespace nbx::oracle::testing
