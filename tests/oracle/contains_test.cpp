// Who watches the oracle: every ball of `evaluate` holds the 256-bit value of the plain reference.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "oracle/plain.hpp"
#include "oracle/reference.hpp"
#include "problems.hpp"

namespace nbx::oracle::testing {
namespace {

std::string shown(const Expected& expected, std::size_t at, const PlainReal<256>& answer) {
  char text[200];
  std::snprintf(text, sizeof text, "%zu: %a ± %a, classes %d, exactly %.20g", at, expected.value[at],
                expected.radius[at], expected.classes[at], answer.convert_to<double>());
  return text;
}

/// How many elements were compared; stops at the first that is not enclosed.
std::int64_t compare(const Evaluation& evaluation, const std::vector<std::vector<PlainReal<256>>>& exact,
                     const std::string& where) {
  std::int64_t compared = 0;
  EXPECT_EQ(evaluation.outputs.size(), exact.size());
  for (std::size_t output = 0; output < exact.size(); ++output) {
    const Expected& expected = evaluation.outputs[output].expected;
    EXPECT_EQ(expected.value.size(), exact[output].size()) << where;
    for (std::size_t at = 0; at < exact[output].size(); ++at, ++compared) {
      if (admits(expected, static_cast<std::int64_t>(at), exact[output][at])) continue;
      ADD_FAILURE() << where << ", output " << output << ", element " << shown(expected, at, exact[output][at]);
      return compared;
    }
  }
  return compared;
}

class EveryBall : public ::testing::TestWithParam<Kind> {};

TEST_P(EveryBall, HoldsThePlainValue) {
  constexpr std::int64_t wanted = 100'000;
  std::mt19937_64 random(1000 + static_cast<unsigned>(GetParam()));
  const Arithmetic arithmetic = plain_f32();
  std::int64_t compared = 0;
  while (compared < wanted && !HasFailure()) {
    const AttentionSpec spec = random_spec(random, GetParam());
    const Attention problem = make(spec);
    compared += compare(evaluate(problem.input(), {&arithmetic, 1}), plain<256>(problem.input()), describe(spec));
  }
  EXPECT_GE(compared, wanted);
}

INSTANTIATE_TEST_SUITE_P(Kinds, EveryBall, ::testing::ValuesIn(all_kinds()),
                         [](const auto& parameter) { return name(parameter.param); });

/// Longer rows and wider heads, where sums are long.
TEST(EveryBallOf, LongRowsHoldsThePlainValue) {
  const Arithmetic arithmetic = plain_f32();
  for (const Kind kind : all_kinds()) {
    for (const Format format : {Format::f32, Format::bf16}) {
      const AttentionSpec spec{
          .H = 2, .Tq = 3, .Tk = 300, .D = 48, .Dv = 20, .format = format, .kind = kind, .seed = 3};
      const Attention problem = make(spec);
      compare(evaluate(problem.input(), {&arithmetic, 1}), plain<256>(problem.input()), describe(spec));
    }
  }
}

/// NaN, ±Inf anywhere, among ordinary elements and under every mask.
TEST(EveryBallOf, SprinkledSpecialValuesHoldsThePlainClass) {
  std::mt19937_64 random(77);
  Arithmetic arithmetic = plain_f32();
  std::int64_t special = 0;
  for (int round = 0; round < 1500 && !::testing::Test::HasFailure(); ++round) {
    AttentionSpec spec = random_spec(random, Kind::normal);
    spec.Dv = std::min<std::int64_t>(spec.Dv, 6);
    if (spec.format == Format::e4m3) spec.format = Format::f16;  // no infinity
    Attention problem = make(spec);
    const double values[] = {NAN, INFINITY, -INFINITY};
    for (Tensor* tensor : {&problem.q, &problem.k, &problem.v, &problem.bias}) {
      if (tensor->shape.empty() || random() % 3 != 0) continue;
      const auto size = static_cast<std::uint64_t>(tensor->size());
      for (std::uint64_t hit = 0; hit < 1 + size / 60; ++hit) {
        tensor->set(static_cast<std::int64_t>(random() % size), values[random() % 3]);
      }
    }
    arithmetic.masked_value = random() % 2 == 0 ? Arithmetic::MaskedValue::inert : Arithmetic::MaskedValue::propagates;
    const auto exact = plain<256>(problem.input(), arithmetic.masked_value);
    for (const auto& answer : exact[0]) special += isfinite(answer) ? 0 : 1;
    compare(evaluate(problem.input(), {&arithmetic, 1}), exact, describe(spec) + " with specials");
  }
  EXPECT_GT(special, 1000);
}

TEST(EveryBallOf, SoftmaxHoldsThePlainValue) {
  std::mt19937_64 random(5);
  const Arithmetic arithmetic = plain_f32();
  std::int64_t compared = 0;
  for (int round = 0; compared < 60'000 && !::testing::Test::HasFailure(); ++round) {
    static constexpr Format formats[] = {Format::f32, Format::f16, Format::bf16, Format::f32};
    Tensor x(formats[round % 4],
             {1 + static_cast<std::int64_t>(random() % 5), 1 + static_cast<std::int64_t>(random() % 40),
              1 + static_cast<std::int64_t>(random() % 4)});
    const double spread = std::ldexp(1.0, static_cast<int>(random() % 12) - 4);
    const bool wide = round % 5 == 0, special = round % 7 == 0;
    static constexpr double odd[] = {NAN, INFINITY, -INFINITY};
    x.fill([&] {
      if (special && random() % 30 == 0) return odd[random() % 3];
      if (special && random() % 4 == 0) return odd[2];
      return wide ? any_finite(x.format, random) : std::normal_distribution<double>(0, spread)(random);
    });
    const SoftmaxInput input{.x = x.view(), .axis = round % 3 - 1, .log = random() % 2 == 0};
    compared +=
        compare(evaluate(input, {&arithmetic, 1}), plain<256>(input), "softmax, round " + std::to_string(round));
  }
  EXPECT_GE(compared, 60'000);
}

TEST(Admits, SeesWhatLiesOutside) {
  Expected expected{{1.0}, {0x1p-53}, {Class::finite}};
  const PlainReal<256> one(1);
  EXPECT_TRUE(admits(expected, 0, one + 0x1p-53));
  EXPECT_FALSE(admits(expected, 0, one + 0x1.001p-53));
  EXPECT_FALSE(admits(expected, 0, one - 0x1.001p-53));
  EXPECT_FALSE(admits(expected, 0, PlainReal<256>(NAN)));
  EXPECT_FALSE(admits(expected, 0, PlainReal<256>(INFINITY)));
  expected.classes[0] = Class::plus_infinity | Class::not_a_number;
  EXPECT_TRUE(admits(expected, 0, PlainReal<256>(INFINITY)));
  EXPECT_FALSE(admits(expected, 0, PlainReal<256>(-INFINITY)));
  EXPECT_TRUE(admits(expected, 0, PlainReal<256>(NAN)));
  EXPECT_FALSE(admits(expected, 0, one));
  expected = {{NAN}, {0x1p-53}, {Class::finite}};
  EXPECT_FALSE(admits(expected, 0, one));
  expected = {{1.0}, {NAN}, {Class::finite}};
  EXPECT_FALSE(admits(expected, 0, one));
  expected = {{0.0}, {0.0}, {Class::exact_plus_zero}};
  EXPECT_TRUE(admits(expected, 0, PlainReal<256>(0)));
  EXPECT_FALSE(admits(expected, 0, one));
}

}  // namespace
}  // namespace nbx::oracle::testing
