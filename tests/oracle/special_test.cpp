// The table of special values, row by row.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "oracle/reference.hpp"
#include "problems.hpp"

namespace nbx::oracle::testing {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr std::int64_t Tq = 3, Tk = 6, D = 4, Dv = 3;

/// One head, with what `spoil` does to it beside a copy that stays clean.
class Special : public ::testing::Test {
 protected:
  Attention clean_ = make({.Tq = Tq, .Tk = Tk, .D = D, .Dv = Dv, .seed = 9});
  Attention problem_ = make({.Tq = Tq, .Tk = Tk, .D = D, .Dv = Dv, .seed = 9});
  Arithmetic::MaskedValue masked_value_ = Arithmetic::MaskedValue::inert;

  void set_key(std::int64_t j, double value) { problem_.k.set(j * D + 1, value); }
  /// A key whose score is ±inf for every row, whatever the sign of q.
  void make_key_score(std::int64_t j, double score) {
    for (std::int64_t i = 0; i < Tq; ++i) problem_.q.set(i * D + 1, 1.0), clean_.q.set(i * D + 1, 1.0);
    set_key(j, score);
  }
  void set_value(std::int64_t j, std::int64_t d, double value) { problem_.v.set(j * Dv + d, value); }
  void add_bias() {
    for (Attention* problem : {&clean_, &problem_}) {
      problem->bias = Tensor(Format::f32, {1, 1, Tq, Tk});
    }
  }

  static Evaluation evaluated(const Attention& problem, Arithmetic::MaskedValue masked_value) {
    Arithmetic arithmetic = plain_f32();
    arithmetic.masked_value = masked_value;
    return evaluate(problem.input(), {&arithmetic, 1});
  }
  Expected o() const { return evaluated(problem_, masked_value_).outputs[0].expected; }
  Expected lse() const { return evaluated(problem_, masked_value_).outputs[1].expected; }

  /// Row i is what it is without `removed` keys at the end of a shortened problem, and finite.
  void expect_row_like(const Attention& other, std::int64_t i) const {
    const Evaluation mine = evaluated(problem_, masked_value_), theirs = evaluated(other, masked_value_);
    for (std::int64_t d = 0; d < Dv; ++d) {
      const auto at = static_cast<std::size_t>(i * Dv + d);
      EXPECT_EQ(mine.outputs[0].expected.classes[at], Class::finite) << i << ", " << d;
      EXPECT_NEAR(mine.outputs[0].expected.value[at], theirs.outputs[0].expected.value[at],
                  mine.outputs[0].expected.radius[at] + theirs.outputs[0].expected.radius[at]);
    }
    const auto row = static_cast<std::size_t>(i);
    EXPECT_EQ(mine.outputs[1].expected.classes[row], Class::finite);
    EXPECT_NEAR(mine.outputs[1].expected.value[row], theirs.outputs[1].expected.value[row],
                mine.outputs[1].expected.radius[row] + theirs.outputs[1].expected.radius[row]);
  }
  void expect_row(std::int64_t i, std::uint8_t classes, std::uint8_t lse_classes) const {
    const Expected all = o();
    for (std::int64_t d = 0; d < Dv; ++d) EXPECT_EQ(all.classes[static_cast<std::size_t>(i * Dv + d)], classes) << i;
    EXPECT_EQ(lse().classes[static_cast<std::size_t>(i)], lse_classes) << i;
  }
  void expect_column(std::int64_t d, std::uint8_t classes) const {
    const Expected all = o();
    for (std::int64_t i = 0; i < Tq; ++i) {
      for (std::int64_t column = 0; column < Dv; ++column) {
        EXPECT_EQ(all.classes[static_cast<std::size_t>(i * Dv + column)], column == d ? classes : +Class::finite)
            << i << ", " << column;
      }
      EXPECT_EQ(lse().classes[static_cast<std::size_t>(i)], Class::finite);
    }
  }
  static constexpr std::uint8_t masked = Class::exact_plus_zero;
};

TEST_F(Special, BeyondTheLengthNothingShows) {
  problem_.lengths = clean_.lengths = {4};
  for (const double odd : {static_cast<double>(NAN), infinity, -infinity, 3e38}) {
    for (std::int64_t j = 4; j < Tk; ++j) {
      set_key(j, odd);
      for (std::int64_t d = 0; d < Dv; ++d) set_value(j, d, odd);
    }
    for (std::int64_t i = 0; i < Tq; ++i) expect_row_like(clean_, i);
  }
}

TEST_F(Special, BeyondTheCausalEdgeNothingShows) {
  for (const Causal causal : {Causal::top_left, Causal::bottom_right}) {
    problem_.causal = clean_.causal = causal;
    const std::int64_t j = causal == Causal::top_left ? 2 : 5;  // the last row alone sees it
    set_key(j, NAN);
    set_value(j, 0, NAN);
    for (std::int64_t i = 0; i + 1 < Tq; ++i) expect_row_like(clean_, i);
    expect_row(Tq - 1, Class::not_a_number, Class::not_a_number);
    set_key(j, clean_.k.at(j * D + 1));
    set_value(j, 0, clean_.v.at(j * Dv));
  }
}

TEST_F(Special, ABiasOfMinusInfinityOutweighsAnyScore) {
  add_bias();
  for (std::int64_t i = 0; i < Tq; ++i) {
    for (Attention* problem : {&clean_, &problem_}) problem->bias.set(i * Tk + 2, -infinity);
  }
  for (const double odd : {static_cast<double>(NAN), infinity, -infinity}) {
    set_key(2, odd);
    for (std::int64_t i = 0; i < Tq; ++i) expect_row_like(clean_, i);
  }
}

TEST_F(Special, ValuesUnderABiasOfMinusInfinityFollowTheDeclaration) {
  add_bias();
  for (std::int64_t i = 0; i < Tq; ++i) problem_.bias.set(i * Tk + 2, -infinity);
  for (const double odd : {static_cast<double>(NAN), infinity, -infinity}) {
    set_value(2, 1, odd);
    masked_value_ = Arithmetic::MaskedValue::inert;
    expect_column(1, Class::finite);
    masked_value_ = Arithmetic::MaskedValue::propagates;
    expect_column(1, Class::not_a_number);
  }
}

TEST_F(Special, ACountedNaNScoreTakesItsRow) {
  set_key(5, NAN);
  for (std::int64_t i = 0; i < Tq; ++i) expect_row(i, Class::not_a_number, Class::not_a_number);
  set_key(5, clean_.k.at(5 * D + 1));
  problem_.q.set(1 * D, NAN);
  expect_row(1, Class::not_a_number, Class::not_a_number);
  expect_row_like(clean_, 0);
  expect_row_like(clean_, 2);
}

TEST_F(Special, ABiasThatIsNaNOrPlusInfinityTakesItsRow) {
  add_bias();
  problem_.bias.set(0 * Tk + 3, NAN);
  problem_.bias.set(2 * Tk + 1, infinity);
  expect_row(0, Class::not_a_number, Class::not_a_number);
  expect_row_like(clean_, 1);
  expect_row(2, Class::not_a_number, Class::not_a_number);
}

TEST_F(Special, ACountedScoreOfPlusInfinityTakesItsRow) {
  make_key_score(4, infinity);
  for (std::int64_t i = 0; i < Tq; ++i) expect_row(i, Class::not_a_number, Class::not_a_number);
}

TEST_F(Special, AScoreOfMinusInfinityFromDataHasNoWeight) {
  make_key_score(5, -infinity);
  clean_.lengths = {5};
  for (std::int64_t i = 0; i < Tq; ++i) expect_row_like(clean_, i);
}

TEST_F(Special, NoWeightTimesANonFiniteValueIsOpen) {
  make_key_score(5, -infinity);
  for (const double odd : {static_cast<double>(NAN), infinity}) {
    set_value(5, 2, odd);
    expect_column(2, Class::finite | Class::not_a_number);
  }
}

TEST_F(Special, ScoresOfMinusInfinityAloneAreAMaskedRow) {
  for (std::int64_t j = 0; j < Tk; ++j) make_key_score(j, -infinity);
  set_value(1, 1, NAN);
  for (std::int64_t i = 0; i < Tq; ++i) expect_row(i, masked, Class::minus_infinity);
}

TEST_F(Special, FullyMaskedRowsAreZeroWhateverVHolds) {
  for (std::int64_t at = 0; at < problem_.v.size(); ++at) problem_.v.set(at, at % 2 == 0 ? NAN : infinity);
  problem_.lengths = {0};
  for (std::int64_t i = 0; i < Tq; ++i) expect_row(i, masked, Class::minus_infinity);
  problem_.lengths = {};
  add_bias();
  for (std::int64_t at = 0; at < Tq * Tk; ++at) problem_.bias.set(at, -infinity);
  for (std::int64_t i = 0; i < Tq; ++i) expect_row(i, masked, Class::minus_infinity);
  for (std::int64_t at = 0; at < problem_.k.size(); ++at) problem_.k.set(at, NAN);
  for (std::int64_t i = 0; i < Tq; ++i) expect_row(i, masked, Class::minus_infinity);
}

TEST_F(Special, CausalRowsThatSeeNothingAreMasked) {
  // 3 queries against 2 keys, bottom right: row 0 sees none.
  problem_ = make({.Tq = Tq, .Tk = 2, .D = D, .Dv = Dv, .causal = Causal::bottom_right, .seed = 9});
  expect_row(0, masked, Class::minus_infinity);
  expect_row(1, Class::finite, Class::finite);
  expect_row(2, Class::finite, Class::finite);
  problem_.causal = Causal::top_left;
  for (std::int64_t i = 0; i < Tq; ++i) expect_row(i, Class::finite, Class::finite);
}

TEST_F(Special, ANaNValueTakesItsColumn) {
  set_value(3, 1, NAN);
  expect_column(1, Class::not_a_number);
}

TEST_F(Special, InfiniteValuesKeepTheirSign) {
  set_value(3, 1, infinity);
  expect_column(1, Class::plus_infinity);
  set_value(3, 1, -infinity);
  expect_column(1, Class::minus_infinity);
  set_value(0, 1, -infinity);
  expect_column(1, Class::minus_infinity);
  set_value(0, 1, infinity);
  expect_column(1, Class::not_a_number);
  set_value(0, 1, NAN);
  expect_column(1, Class::not_a_number);
}

TEST_F(Special, AnInfiniteValueWhoseWeightMayUnderflowIsOpen) {
  for (std::int64_t i = 0; i < Tq; ++i) problem_.q.set(i * D + 1, 1.0);
  set_key(2, -400);  // exp(-200) is below the smallest fp32
  set_value(2, 0, infinity);
  expect_column(0, Class::plus_infinity | Class::not_a_number);
  set_value(2, 0, -infinity);
  expect_column(0, Class::minus_infinity | Class::not_a_number);
  set_value(2, 0, NAN);
  expect_column(0, Class::not_a_number);
}

TEST_F(Special, MinusZeroAndZeroAreOrdinary) {
  for (std::int64_t at = 0; at < problem_.v.size(); ++at) problem_.v.set(at, -0.0);
  expect_column(0, Class::finite);
  EXPECT_EQ(o().value[0], 0);
}

// Softmax: rows along the last axis.

Expected softmax(const std::vector<double>& row, bool log) {
  Tensor x(Format::f32, {2, static_cast<std::int64_t>(row.size())});
  for (std::size_t j = 0; j < row.size(); ++j) {
    x.set(static_cast<std::int64_t>(j), row[j]);
    x.set(static_cast<std::int64_t>(row.size() + j), static_cast<double>(j));  // an ordinary neighbour
  }
  const Arithmetic arithmetic = plain_f32();
  Expected expected =
      evaluate(SoftmaxInput{.x = x.view(), .axis = 1, .log = log}, {&arithmetic, 1}).outputs[0].expected;
  for (std::size_t j = 0; j < row.size(); ++j) EXPECT_EQ(expected.classes[row.size() + j], Class::finite);
  return expected;
}

TEST(SpecialSoftmax, ARowOfMinusInfinityAloneIsNaN) {
  for (const bool log : {false, true}) {
    for (std::size_t j = 0; j < 3; ++j) {
      EXPECT_EQ(softmax({-infinity, -infinity, -infinity}, log).classes[j], Class::not_a_number);
    }
  }
}

TEST(SpecialSoftmax, NaNAndPlusInfinityTakeTheirRow) {
  for (const bool log : {false, true}) {
    for (const double odd : {static_cast<double>(NAN), infinity}) {
      for (std::size_t j = 0; j < 3; ++j) EXPECT_EQ(softmax({1, odd, 2}, log).classes[j], Class::not_a_number);
    }
  }
}

TEST(SpecialSoftmax, MinusInfinityBesideFiniteOnes) {
  const Expected plainly = softmax({1, -infinity, 1}, false);
  EXPECT_EQ(plainly.classes[0], Class::finite);
  EXPECT_NEAR(plainly.value[0], 0.5, 1e-15);
  EXPECT_EQ(plainly.classes[1] & Class::not_a_number, 0);
  EXPECT_EQ(plainly.value[1], 0);
  const Expected logs = softmax({1, -infinity, 1}, true);
  EXPECT_NEAR(logs.value[0], -std::log(2.0), 1e-15);
  EXPECT_EQ(logs.classes[1], Class::minus_infinity);
}

}  // namespace
}  // namespace nbx::oracle::testing
