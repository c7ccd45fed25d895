// Weights relative to a whole shift: within their stated error, exact where they promise it.
#include "kernels/flash/whole.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace nbx::test {
namespace {

using flash::Exponents;
using flash::WholeShift;

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float largest = std::numeric_limits<float>::max();

/// |result − exact| in units of the last place of `exact`. double's own exp2 is right to 2^-52.
double error_ulp(float result, double exact) {
  return std::fabs(static_cast<double>(result) - exact) / std::ldexp(1.0, std::ilogb(exact) - 23);
}

TEST(Whole, ThePolynomialIsWithinItsStatedError) {
  double worst = 0;
  const auto look = [&](std::uint32_t bits) {
    for (const std::uint32_t sign : {0U, 0x80000000U}) {
      const float r = tile::float_of(bits | sign);
      worst = std::fmax(worst, error_ulp(flash::power_of_fraction(r), std::exp2(static_cast<double>(r))));
    }
  };
  for (std::uint32_t bits = 0x33000000U; bits <= 0x3F000000U; bits += 61) look(bits);
  // Around the worst of all.
  for (std::uint32_t bits = tile::bits_of(0x1.3d4786p-3F) - 5000; bits < tile::bits_of(0x1.3d4786p-3F) + 5000; ++bits) {
    look(bits);
  }
  EXPECT_LE(worst, flash::weight_ulp);
  EXPECT_GE(worst, flash::weight_ulp - 0.1) << "the stated error is loose";
  EXPECT_EQ(flash::power_of_fraction(0.0F), 1.0F);
}

TEST(Whole, AWeightIsTheExponentialOfItsScore) {
  const Exponents by = Exponents::of(0.08838835F);
  for (const float shift : {-3.0F, 0.0F, 1.0F, 777.0F, 2000.0F, -2097152.0F, 2097152.0F}) {
    for (int i = 0; i <= 4000; ++i) {
      const float score = (shift - static_cast<float>(i) * 0.0313F) / by.c;
      const double exact =
          std::exp2(static_cast<double>(score) * static_cast<double>(by.c) - static_cast<double>(shift));
      if (exact > 1) continue;  // M is not under any exponent
      const float weight = flash::near_weight(score, WholeShift::of(shift, by), by.c);
      // Half a unit of 2^-149 where it is subnormal, and the exponent's rounding.
      EXPECT_LE(std::fabs(static_cast<double>(weight) - exact), exact * 0x1p-23 * flash::weight_ulp + 0x1p-150)
          << score << " " << shift;
    }
    EXPECT_EQ(tile::bits_of(flash::near_weight(-infinity, WholeShift::of(shift, by), by.c)), 0U);
    EXPECT_EQ(tile::bits_of(flash::near_weight(-largest, WholeShift::of(shift, by), by.c)), 0U);
  }
}

TEST(Whole, AMovedShiftMovesWeightsByPowersOfTwoExactly) {
  const Exponents by = Exponents::of(0.08838835F);
  for (int i = 0; i < 1000; ++i) {
    const float score = static_cast<float>(i) * -0.37F;
    const float at = flash::near_weight(score, WholeShift::of(4.0F, by), by.c);
    const float later = flash::near_weight(score, WholeShift::of(9.0F, by), by.c);
    EXPECT_EQ(at * flash::whole_rescale(4.0F, 9.0F), later) << i;
  }
  for (int step = 0; step <= 149; ++step) {
    EXPECT_EQ(flash::whole_rescale(7.0F, 7.0F + static_cast<float>(step)), std::ldexp(1.0F, -step)) << step;
  }
  EXPECT_EQ(flash::whole_rescale(-flash::far_shift, flash::far_shift), 0.0F);
  EXPECT_EQ(flash::whole_rescale(0.0F, -5.0F), 1.0F) << "before the first score";
  EXPECT_EQ(flash::whole_rescale(0.0F, infinity), 0.0F);
}

TEST(Whole, AShiftIsTheLeastWholeNumberNotUnderAnyExponent) {
  EXPECT_EQ(flash::whole_above(3.0F, 1.0F), 3.0F);
  EXPECT_EQ(flash::whole_above(3.01F, 1.0F), 4.0F);
  EXPECT_EQ(flash::whole_above(-3.5F, 1.0F), -3.0F);
  EXPECT_EQ(flash::shift_of(-infinity), 0.0F);
  EXPECT_TRUE(flash::is_far(infinity) && flash::is_far(std::nanf("")) && flash::is_far(-flash::far_shift - 1));
  EXPECT_FALSE(flash::is_far(flash::far_shift) || flash::is_far(0.0F));
}

TEST(Whole, ABiasOfZeroChangesNothingAndAFiniteScoreStaysFinite) {
  const Exponents by = Exponents::of(0.125F);
  for (int i = 1; i < 100; ++i) {  // to a score and back would round
    const float product = static_cast<float>(i) * 0.1F;
    EXPECT_EQ(Exponents::of(0.08838835F).biased(product, 0.0F), product);
  }
  EXPECT_EQ(by.biased(infinity, -infinity), -infinity);
  EXPECT_EQ(by.biased(16.0F, 3.0F), 40.0F);
  EXPECT_EQ(by.biased(0.0F, -largest), -largest);
  EXPECT_EQ(by.biased(0.0F, infinity), infinity);
  EXPECT_TRUE(std::isnan(by.biased(0.0F, std::nanf(""))));
  // A scale that is no ordinary positive number multiplies each product.
  for (const float scale : {-0.5F, 0.0F, 1e30F, 1e-30F}) {
    EXPECT_EQ(Exponents::of(scale).before, scale);
    EXPECT_EQ(Exponents::of(scale).biased(2.0F, 3.0F), 5.0F);
  }
}

}  // namespace
}  // namespace nbx::test
