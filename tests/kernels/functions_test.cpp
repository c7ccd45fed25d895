// exp2, exp, log2 and log against MPFR: each within its stated bound over floats from all over the range and around
// every seam. sweep/ asks over all 2^32.
#include "kernels/tile/functions.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>

#include "function_error.hpp"
#include "function_hash.hpp"

namespace nbx::tests {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

class FunctionError : public testing::TestWithParam<Function> {};

TEST_P(FunctionError, IsWithinItsBoundOverSampledFloats) {
  constexpr std::uint32_t step = 2017;  // odd: all binades, all low bits
  expect_within_bound(GetParam(), measure_range(GetParam(), 0, all_floats / step, step));
}

TEST_P(FunctionError, IsWithinItsBoundAroundEverySeam) {
  Worst worst;
  const auto around = [&](float x) {
    for (const float seam : {x, -x}) {
      for (int away = -40; away <= 40; ++away) {
        measure(GetParam(), tile::bits_of(seam) + static_cast<std::uint32_t>(away), worst);
      }
    }
  };
  for (int e = -149; e <= 127; ++e) {
    around(std::ldexp(1.0F, e));
    around(std::ldexp(1.41421354F, e));  // where a logarithm's exponent steps
  }
  for (int halves = 1; halves <= 304; ++halves) {
    const float n = 0.5F * static_cast<float>(halves);
    around(n);
    around(n * 0.693147182F);  // where exp's n steps, its overflow and its underflow
  }
  around(0.0F);
  around(infinity);
  around(tile::canonical_nan());
  expect_within_bound(GetParam(), worst);
}

INSTANTIATE_TEST_SUITE_P(Functions, FunctionError, testing::ValuesIn(functions),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(Functions, GiveSpecialValuesTheirOwn) {
  for (const Function& function : functions) {
    for (const std::uint32_t nan : {0x7FC00000U, 0x7F800001U, 0xFFC00000U, 0xFFFFFFFFU}) {
      EXPECT_EQ(tile::bits_of(function.computed(tile::float_of(nan))), tile::canonical_nan_bits) << function.name;
    }
    EXPECT_EQ(function.computed(infinity), infinity) << function.name;
  }
  for (const auto exponential : {tile::exp2, tile::exp}) {
    EXPECT_EQ(tile::bits_of(exponential(-infinity)), 0U);
    EXPECT_EQ(exponential(0.0F), 1.0F);
    EXPECT_EQ(exponential(-0.0F), 1.0F);
  }
  for (const auto logarithm : {tile::log2, tile::log}) {
    EXPECT_EQ(logarithm(0.0F), -infinity);
    EXPECT_EQ(logarithm(-0.0F), -infinity);
    EXPECT_EQ(tile::bits_of(logarithm(1.0F)), 0U);
    for (const float negative : {-0x1p-149F, -1.0F, -infinity}) {
      EXPECT_EQ(tile::bits_of(logarithm(negative)), tile::canonical_nan_bits);
    }
  }
  EXPECT_EQ(tile::exp2(128.0F), infinity);
  EXPECT_EQ(tile::bits_of(tile::exp2(-151.0F)), 0U);
}

TEST(Functions, AreExactAtPowersOfTwo) {
  for (int e = -149; e <= 127; ++e) {
    const float power = std::ldexp(1.0F, e);
    EXPECT_EQ(tile::exp2(static_cast<float>(e)), power) << e;
    EXPECT_EQ(tile::log2(power), static_cast<float>(e)) << e;
  }
}

// One set of bits for every compiler, optimisation level and instruction set.
TEST(Functions, HaveTheSameBitsWhateverCompiledThem) {
  for_each_hashed_function([](auto function, const RecordedHash& recorded) {
    const std::uint64_t hash = hash_of_range(function, 0, sampled_floats, sampled_step);
    EXPECT_EQ(hash, recorded.sampled) << recorded.name << std::hex << ": 0x" << hash;
  });
}

float of_random_bits(std::mt19937_64& random) { return tile::float_of(static_cast<std::uint32_t>(random())); }

void expect_fma(float a, float b, float c) {
  const float expected = std::fma(a, b, c);
  for (const float actual : {tile::fma(a, b, c), tile::detail::fma_through_double(a, b, c)}) {
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(actual)) << a << " * " << b << " + " << c;
    } else {
      ASSERT_EQ(tile::bits_of(actual), tile::bits_of(expected)) << std::hexfloat << a << " * " << b << " + " << c;
    }
  }
}

TEST(Fma, IsTheMathLibrarysForRandomFloats) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 1'000'000 && !HasFatalFailure(); ++i)
    expect_fma(of_random_bits(random), of_random_bits(random), of_random_bits(random));
  // Near exponents, where the terms meet.
  const auto near_one = [&] {
    const float fraction = tile::float_of(0x3F800000U | (static_cast<std::uint32_t>(random()) & 0x807FFFFFU));
    return std::ldexp(fraction, static_cast<int>(random() % 50) - 25);
  };
  for (int i = 0; i < 1'000'000 && !HasFatalFailure(); ++i) expect_fma(near_one(), near_one(), near_one());
}

// Sums that a double rounds to the middle of two floats, while the exact one lies beside it: rounding twice gives the
// even neighbour.
TEST(Fma, RoundsOnceBesideTies) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 200'000 && !HasFatalFailure(); ++i) {
    const float k = static_cast<float>(random() % 4096 + 1) * 0x1p-23F;
    const float c = tile::float_of(0x3F800000U | (static_cast<std::uint32_t>(random()) & 0x7FFFFFU));
    // (1 + k)(1 − k)·2^-24 = 2^-24 − k²·2^-24: just under half an ulp of c; with c's sign, and against it.
    for (const float sign : {1.0F, -1.0F}) {
      for (const float scale : {1.0F, -1.0F, 0x1p100F, -0x1p-100F}) {
        expect_fma((1 + k) * 0x1p-24F * sign, (1 - k) * scale, c * scale);
        expect_fma((1 + k) * 0x1p-24F * sign, (1 + k) * scale, c * scale);
      }
    }
  }
}

TEST(Fma, RoundsSubnormalAndOverflowingResultsOnce) {
  std::mt19937_64 random(3);
  const auto scaled = [&](int e) {
    return std::ldexp(tile::float_of(0x3F800000U | (static_cast<std::uint32_t>(random()) & 0x807FFFFFU)), e);
  };
  for (int i = 0; i < 500'000 && !HasFatalFailure(); ++i) {
    const int split = static_cast<int>(random() % 40);
    expect_fma(scaled(-60 - split), scaled(-90 + split), scaled(-149 + static_cast<int>(random() % 24)));
    expect_fma(scaled(64 - split), scaled(63 + split), scaled(104 + static_cast<int>(random() % 24)));
  }
  const float values[] = {0.0F,  -0.0F,           0x1p-149F, -0x1p-149F, 1.0F,
                          -1.0F, 0x1.fffffep127F, infinity,  -infinity,  tile::canonical_nan()};
  for (const float a : values) {
    for (const float b : values) {
      for (const float c : values) expect_fma(a, b, c);
    }
  }
}

TEST(MaxAndMin, PropagateNanAndOrderZeros) {
  // In rising order.
  const float ordered[] = {-infinity, -0x1.fffffep127F, -1.0F, -0x1p-149F, -0.0F,
                           0.0F,      0x1p-149F,        1.0F,  2.0F,       infinity};
  for (std::size_t i = 0; i < std::size(ordered); ++i) {
    for (std::size_t j = 0; j < std::size(ordered); ++j) {
      EXPECT_EQ(tile::bits_of(tile::max_nan(ordered[i], ordered[j])), tile::bits_of(ordered[std::max(i, j)]));
      EXPECT_EQ(tile::bits_of(tile::min_nan(ordered[i], ordered[j])), tile::bits_of(ordered[std::min(i, j)]));
    }
    for (const std::uint32_t nan : {0x7FC00000U, 0xFFC00001U, 0x7F800001U}) {
      for (const auto either : {tile::max_nan, tile::min_nan}) {
        EXPECT_EQ(tile::bits_of(either(ordered[i], tile::float_of(nan))), tile::canonical_nan_bits);
        EXPECT_EQ(tile::bits_of(either(tile::float_of(nan), ordered[i])), tile::canonical_nan_bits);
      }
    }
  }
}

TEST(ToInt, ClampsFirst) {
  EXPECT_EQ(tile::to_int_clamped(3.9F, -126, 126), 3);
  EXPECT_EQ(tile::to_int_clamped(-3.9F, -126, 126), -3);
  EXPECT_EQ(tile::to_int_clamped(126.5F, -126, 126), 126);
  EXPECT_EQ(tile::to_int_clamped(1e30F, -126, 126), 126);
  EXPECT_EQ(tile::to_int_clamped(infinity, -126, 126), 126);
  EXPECT_EQ(tile::to_int_clamped(-infinity, -126, 126), -126);
  EXPECT_EQ(tile::to_int_clamped(tile::canonical_nan(), -126, 126), -126);
}

TEST(Select, TakesTheChosenBits) {
  EXPECT_EQ(tile::select(true, 0x12345678U, 0x9ABCDEF0U), 0x12345678U);
  EXPECT_EQ(tile::select(false, 0x12345678U, 0x9ABCDEF0U), 0x9ABCDEF0U);
  EXPECT_EQ(tile::bits_of(tile::select(false, tile::canonical_nan(), -0.0F)), 0x80000000U);
}

}  // namespace
}  // namespace nbx::tests
