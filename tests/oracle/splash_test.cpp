// The window of fixed-m attention proven in exact arithmetic, and its quantities where they are known.
#include "oracle/splash.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "oracle/plain.hpp"
#include "oracle/reference.hpp"

namespace nbx::oracle {
namespace {

using Rational = boost::multiprecision::cpp_rational;
using Integer = boost::multiprecision::cpp_int;

Rational power_of_two(int n) { return n >= 0 ? Rational(Integer(1) << n) : Rational(Integer(1), Integer(1) << -n); }

/// ⌈x⌉ of x ≥ 0.
Integer ceil_of(const Rational& x) {
  const Integer whole = numerator(x) / denominator(x);
  return Rational(whole) == x ? whole : Integer(whole + 1);
}

constexpr std::int64_t key_counts[] = {1,     2,      3,       512,    513,    1024,      16384,
                                       75600, 151200, 1 << 20, 123457, 999999, 1LL << 32, (1LL << 40) + 1};
constexpr double values[] = {0x1p-20, 0.5, 1, 1.5, 2, 255, 256, 256.5, 65504};

TEST(SplashWindow, HasThePublishedNumbers) {
  const auto is = [](std::int64_t keys, int C, int W, int gate) {
    const SplashWindow w = splash_window(keys, 256);
    EXPECT_EQ(w.C, C) << keys;
    EXPECT_EQ(w.W, W) << keys;
    EXPECT_EQ(w.gate, gate) << keys;
  };
  is(4096, 107, 232, 116);
  is(75600, 102, 227, 113);
  is(151200, 101, 226, 113);
}

TEST(SplashWindow, NoSumLeavesTheRangeAndNoWeightTheNormals) {
  for (const std::int64_t keys : key_counts) {
    for (const double v_max : values) {
      const SplashWindow w = splash_window(keys, v_max);
      const Rational largest = Rational(std::fmax(v_max, 1.0)) * Rational(keys) * power_of_two(w.C);
      EXPECT_LE(largest, power_of_two(127)) << keys << " keys, v_max " << v_max;
      EXPECT_EQ(w.W, w.C + 125);
      EXPECT_EQ(w.gate, w.W / 2);
      for (int eighths = 0; eighths <= 8 * w.gate; ++eighths) {
        const Rational U(eighths, 8);
        const Rational m = Rational(ceil_of(U)) - w.C;
        ASSERT_LE(U - m, Rational(w.C)) << keys << " keys, U " << U;
        ASSERT_GE(-U - m, Rational(-125)) << keys << " keys, U " << U;
      }
    }
  }
}

TEST(SplashWindow, OpensNoFurther) {
  for (const std::int64_t keys : key_counts) {
    for (const double v_max : values) {
      const SplashWindow w = splash_window(keys, v_max);
      const Rational U = Rational(w.gate) + Rational(3, 4);
      EXPECT_LT(-U - (Rational(ceil_of(U)) - w.C), Rational(-125)) << keys << " keys: the gate could be wider";
      EXPECT_GT(Rational(2) * std::fmax(v_max, 1.0) * Rational(keys) * power_of_two(w.C), power_of_two(125))
          << keys << " keys: C could be larger";
    }
  }
}

TEST(SplashWindow, RefusesWhatHasNone) {
  EXPECT_THROW(splash_window(0, 256), std::invalid_argument);
  EXPECT_THROW(splash_window(-5, 256), std::invalid_argument);
  for (const double v_max :
       {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    EXPECT_THROW(splash_window(16, v_max), std::invalid_argument) << v_max;
  }
}

/// q, k and v in f32 with their bytes.
struct Problem {
  std::vector<float> q, k, v;
  SplashInput input;

  Problem(std::int64_t Tq, std::int64_t Tk, std::int64_t D)
      : q(static_cast<std::size_t>(Tq * D)), k(static_cast<std::size_t>(Tk * D)), v(static_cast<std::size_t>(Tk)) {
    input.q = {std::as_bytes(std::span(q)), Format::f32, {1, 1, Tq, D}};
    input.k = {std::as_bytes(std::span(k)), Format::f32, {1, 1, Tk, D}};
    input.v = {std::as_bytes(std::span(v)), Format::f32, {1, 1, Tk, 1}};
  }
};

/// Half the keys at +1, half at −1, along a component in which the query has 2; U ≈ 231.
Problem adversarial() {
  Problem p(1, 4096, 128);
  p.q[0] = 231;
  p.q[1] = 2;
  for (std::size_t j = 0; j < 4096; ++j) p.k[j * 128 + 1] = p.v[j] = j % 2 ? -1.0f : 1.0f;
  return p;
}

TEST(Splash, TheAdversarialProblemPassesWAndLosesASeventeenth) {
  const Problem p = adversarial();
  const SplashBlock block = splash_blocks(p.input).at(0);
  EXPECT_NEAR(block.bound, std::sqrt(231.0 * 231.0 + 4), 1e-9);
  EXPECT_FALSE(block.eligible);
  EXPECT_LT(block.bound, splash_window(4096, 256).W);
  const double shift = std::ceil(block.bound) - splash_window(4096, 256).C;
  const LostMass flushed = lost_mass(p.input, 0, shift, false, true);
  EXPECT_EQ(flushed.lost, 2048);
  EXPECT_NEAR(flushed.share, 1.0 / 17, 1e-15);
  EXPECT_EQ(flushed.least, -127);
  const LostMass kept = lost_mass(p.input, 0, shift, false, false);
  EXPECT_EQ(kept.lost, 0);
  EXPECT_EQ(kept.share, 0);
}

TEST(Splash, AWeightAtTheThresholdIsKept) {
  Problem p(1, 2, 1);
  p.q[0] = 1;
  p.k[0] = 0;
  p.k[1] = -126;
  p.v[0] = p.v[1] = 1;
  EXPECT_EQ(lost_mass(p.input, 0, 0, false, true).lost, 0);
  p.k[1] = std::nextafter(-126.0f, -127.0f);
  EXPECT_EQ(lost_mass(p.input, 0, 0, false, true).lost, 1);
  EXPECT_EQ(lost_mass(p.input, 0, 0, false, false).lost, 0);
}

TEST(Splash, TheBoundaryIsDecidedExactly) {
  Problem p(1, 64, 2);
  const int gate = splash_window(64, 256).gate;
  for (std::size_t j = 0; j < 64; ++j) p.k[2 * j] = j % 2 ? -1.0f : 1.0f;
  p.q[0] = static_cast<float>(gate);
  EXPECT_TRUE(splash_blocks(p.input)[0].eligible);
  EXPECT_TRUE(splash_blocks(p.input)[0].either);
  EXPECT_EQ(splash_blocks(p.input)[0].least, gate);
  p.q[1] = 0x1p-30f;  // U² = gate² + 2^-60: double cannot tell
  EXPECT_FALSE(splash_blocks(p.input)[0].eligible);
  p.q[1] = 0;
  p.q[0] = static_cast<float>(gate) - 0.5f;
  EXPECT_TRUE(splash_blocks(p.input)[0].eligible);
  EXPECT_FALSE(splash_blocks(p.input)[0].either);
}

TEST(Splash, WhatIsNoNumberIsNeverEligible) {
  for (const float x : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    for (int which = 0; which < 3; ++which) {
      Problem p(1, 4, 2);
      EXPECT_TRUE(splash_blocks(p.input)[0].eligible);
      (which == 0 ? p.q : which == 1 ? p.k : p.v)[1] = x;
      EXPECT_FALSE(splash_blocks(p.input)[0].eligible) << which;
    }
  }
}

TEST(BaseTwo, EveryBallHoldsThePlainValue) {
  Problem p(4, 37, 8);
  std::uint32_t state = 12345;
  const auto random = [&] {
    state = state * 1664525u + 1013904223u;
    return static_cast<float>(static_cast<std::int32_t>(state)) * 0x1p-30f;
  };
  for (auto* list : {&p.q, &p.k, &p.v})
    for (float& x : *list) x = 3 * random();
  AttentionInput in{.q = p.input.q, .k = p.input.k, .v = p.input.v, .bias = {}, .scale = 1.0f, .lengths = {}};
  in.base_two = true;
  const Evaluation found = evaluate(in, {});
  const auto right = plain<256>(in);
  for (std::size_t o = 0; o < 2; ++o) {
    for (std::size_t e = 0; e < right[o].size(); ++e) {
      EXPECT_TRUE(admits(found.outputs[o].expected, static_cast<std::int64_t>(e), right[o][e])) << o << ' ' << e;
      const Refined fine = refiner(in)(o, static_cast<std::int64_t>(e), 256);
      EXPECT_LE(abs(right[o][e] - fine.value), PlainReal<256>(fine.radius)) << o << ' ' << e;
    }
  }
  // 2^score and e^score are far apart: the base matters.
  AttentionInput natural = in;
  natural.base_two = false;
  EXPECT_FALSE(admits(evaluate(natural, {}).outputs[0].expected, 0, right[0][0]));
}

TEST(BaseTwo, GivesFifteenSeventeenths) {
  const Problem p = adversarial();
  AttentionInput in{.q = p.input.q, .k = p.input.k, .v = p.input.v, .bias = {}, .scale = 1.0f, .lengths = {}};
  in.base_two = true;
  const Refined o = refiner(in)(0, 0, 256);
  EXPECT_NEAR(o.value, 15.0 / 17, 1e-15);
}

}  // namespace
}  // namespace nbx::oracle
