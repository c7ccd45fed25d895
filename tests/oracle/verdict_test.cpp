#include "oracle/verdict.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "problems.hpp"

namespace nbx::oracle::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr double infinity = std::numeric_limits<double>::infinity();

/// An output with one bound, as evaluate would give it.
struct Case {
  Evaluation::Output output;
  Bounds bounds;

  void add(double value, double radius, double bound, std::uint8_t classes = Class::finite) {
    output.expected.value.push_back(value);
    output.expected.radius.push_back(radius);
    output.expected.classes.push_back(classes);
    bounds.bound.push_back(bound);
    bounds.classes.push_back(classes);
    bounds.open.push_back(0);
    output.shape = {static_cast<std::int64_t>(bounds.bound.size())};
  }
  Judgement judge(const std::vector<double>& actual, const Refine& refine = {}, Format format = Format::f32) const {
    return oracle::judge(output, bounds, pack(format, actual), format, refine, 0);
  }
  /// Of one element.
  bool holds(double actual) const { return judge({actual}).holds(); }
};

Case one(double value, double radius, double bound, std::uint8_t classes = Class::finite) {
  Case single;
  single.add(value, radius, bound, classes);
  return single;
}

TEST(Verdict, NaNAgainstFiniteIsRedBothWays) {
  EXPECT_FALSE(one(1, 0, 1e30).holds(NAN));
  EXPECT_FALSE(one(NAN, 0, 1e30, Class::not_a_number).holds(1));
  EXPECT_TRUE(one(NAN, 0, 1e30, Class::not_a_number).holds(NAN));
  EXPECT_TRUE(one(1, 0, 1e30).holds(1));
  // Where the expectation itself is broken, nothing passes.
  EXPECT_FALSE(one(NAN, 0, 1e30).holds(1));
  EXPECT_FALSE(one(1, NAN, 1e30).holds(1));
  EXPECT_FALSE(one(1, 0, NAN).holds(1));
  EXPECT_FALSE(one(1, infinity, 1).holds(1));
  EXPECT_FALSE(one(1, 0, -1).holds(1));
}

TEST(Verdict, InfinitiesHaveSigns) {
  EXPECT_TRUE(one(0, 0, 0, Class::plus_infinity).holds(infinity));
  EXPECT_FALSE(one(0, 0, 0, Class::plus_infinity).holds(-infinity));
  EXPECT_TRUE(one(0, 0, 0, Class::minus_infinity).holds(-infinity));
  EXPECT_FALSE(one(0, 0, 0, Class::minus_infinity).holds(infinity));
  EXPECT_FALSE(one(0, 0, 0, Class::minus_infinity).holds(NAN));
  EXPECT_FALSE(one(0, 0, 0, Class::minus_infinity).holds(0));
  EXPECT_FALSE(one(0, 0, 1e300).holds(infinity));
  EXPECT_FALSE(one(0, 0, infinity).holds(infinity));
  EXPECT_FALSE(one(0, 0, infinity).holds(-infinity));
  EXPECT_FALSE(one(0, 0, infinity).holds(NAN));
  EXPECT_FALSE(one(infinity, 0, infinity).holds(infinity));
}

TEST(Verdict, SeveralClassesAreAllAccepted) {
  const Case either = one(0, 0, 0, Class::plus_infinity | Class::not_a_number);
  EXPECT_TRUE(either.holds(infinity));
  EXPECT_TRUE(either.holds(NAN));
  EXPECT_FALSE(either.holds(-infinity));
  EXPECT_FALSE(either.holds(3e38));
  const Case or_finite = one(2, 0, 1, Class::finite | Class::not_a_number);
  EXPECT_TRUE(or_finite.holds(2.5));
  EXPECT_TRUE(or_finite.holds(NAN));
  EXPECT_FALSE(or_finite.holds(3.5));
}

TEST(Verdict, FullyMaskedRowsArePlusZero) {
  const Case masked = one(0, 0, 0, Class::exact_plus_zero);
  EXPECT_TRUE(masked.holds(0.0));
  EXPECT_FALSE(masked.holds(-0.0));
  EXPECT_FALSE(masked.holds(0x1p-149));
  EXPECT_FALSE(masked.holds(NAN));
  EXPECT_TRUE(one(0, 0, 0).holds(-0.0)) << "elsewhere both zeros are equal";
}

TEST(Verdict, EmptyAndMissizedOutputsNeverHold) {
  const Case none;
  EXPECT_FALSE(none.judge({}).holds());
  const Case single = one(1, 0, 1);
  for (const std::vector<double>& actual : {std::vector<double>{}, std::vector<double>{1, 1}}) {
    const Judgement judgement = single.judge(actual);
    EXPECT_FALSE(judgement.holds());
    EXPECT_EQ(judgement.elements, 0);
  }
  EXPECT_FALSE(oracle::judge(single.output, single.bounds, pack(Format::f16, {1}), Format::f32, {}, 0).holds());
  Bounds wrong = single.bounds;
  wrong.bound.push_back(1);
  EXPECT_THROW(oracle::judge(single.output, wrong, pack(Format::f32, {1}), Format::f32, {}, 0), std::invalid_argument);
}

/// 10^7 elements within their bounds.
class Many : public ::testing::Test {
 protected:
  static constexpr std::int64_t columns = 1000, rows = 10'000;
  Many() {
    const auto size = static_cast<std::size_t>(rows * columns);
    many_.output.expected = {std::vector<double>(size, 1), std::vector<double>(size, 0x1p-53),
                             std::vector<std::uint8_t>(size, Class::finite)};
    many_.bounds = {std::vector<double>(size, 0x1p-20), std::vector<std::uint8_t>(size, Class::finite),
                    std::vector<std::uint8_t>(size, 0)};
    actual_ = Tensor(Format::f32, {rows, columns});
    const auto good = pack(Format::f32, {1 + 0x1p-23});
    for (std::size_t at = 0; at < actual_.bytes.size(); ++at) actual_.bytes[at] = good[at % 4];
  }
  Judgement judge() const { return oracle::judge(many_.output, many_.bounds, actual_.bytes, Format::f32, {}, 0); }
  Case many_;
  Tensor actual_;
};

TEST_F(Many, AllGoodHold) {
  const Judgement judgement = judge();
  EXPECT_TRUE(judgement.holds());
  EXPECT_EQ(judgement.elements, rows * columns);
  EXPECT_EQ(judgement.worst_share, 0.125);
  EXPECT_EQ(judgement.escalations[0], rows * columns);
}

TEST_F(Many, OneWrongElementInTenMillion) {
  for (const std::int64_t at : {std::int64_t{0}, std::int64_t{1'234'567}, rows * columns - 1}) {
    for (const double wrong : {1 + 0x1p-19, static_cast<double>(NAN), 0.0, infinity}) {
      actual_.set(at, wrong);
      const Judgement judgement = judge();
      EXPECT_FALSE(judgement.holds());
      EXPECT_THAT(judgement.wrong, ElementsAre(at));
      EXPECT_EQ(judgement.worst, at);
      EXPECT_EQ(judgement.elements, rows * columns);
      actual_.set(at, 1);
    }
  }
}

TEST_F(Many, OneBadRow) {
  const std::int64_t row = 4321;
  for (std::int64_t d = 0; d < columns; ++d) actual_.set(row * columns + d, 0.5);
  actual_.set(row * columns + 17, 0.25);
  const Judgement judgement = judge();
  EXPECT_FALSE(judgement.holds());
  ASSERT_EQ(judgement.wrong.size(), static_cast<std::size_t>(columns));
  EXPECT_EQ(judgement.wrong.front(), row * columns);
  EXPECT_EQ(judgement.wrong.back(), row * columns + columns - 1);
  EXPECT_EQ(judgement.worst, row * columns + 17);
  EXPECT_EQ(judgement.worst_share, 0.75 * 0x1p20);
}

TEST(Verdict, JustInsideAndJustOutsideTheBound) {
  // Expected 1 exactly, bound 2^-23: one ulp is allowed, two are not.
  const Case exact = one(1, 0, 0x1p-23);
  EXPECT_TRUE(exact.holds(1 + 0x1p-23));
  EXPECT_TRUE(exact.holds(1 - 0x1p-23));
  EXPECT_FALSE(exact.holds(1 + 0x1p-22));
  EXPECT_FALSE(exact.holds(1 - 0x1p-22));
  EXPECT_FALSE(one(1, 0, std::nextafter(0x1p-23, 0)).holds(1 + 0x1p-23));
  EXPECT_TRUE(one(1, 0, std::nextafter(0x1p-23, 1)).holds(1 + 0x1p-23));
  // With a radius only what is inside for every value of the ball.
  EXPECT_TRUE(one(1, 0x1p-60, 0x1p-23 + 0x1p-60).holds(1 + 0x1p-23));
  EXPECT_FALSE(one(1, 0x1p-60, 0x1p-23).holds(1 + 0x1p-23)) << "undecided without a refinement";
  EXPECT_TRUE(one(1, 0x1p-60, 0x1p-23).judge({1 + 0x1p-23}).undecided);
  EXPECT_TRUE(one(1, 0x1p-60, 0x1p-23).judge({1 + 0x1p-22}).wrong.size() == 1);
  // |error| - radius is the bound itself: neither inequality holds.
  EXPECT_TRUE(one(1, 0x1p-24, 0x1p-24).judge({1 + 0x1p-23}).undecided);
  EXPECT_THAT(one(1, 0x1p-24, 0x1p-24).judge({1 + 0x1p-23}).wrong, IsEmpty());
}

TEST(Verdict, ABoundOfZeroStillDecides) {
  EXPECT_TRUE(one(0.5, 0, 0).holds(0.5));
  EXPECT_EQ(one(0.5, 0, 0).judge({0.5}).worst_share, 0);
  const Judgement wrong = one(0.5, 0, 0).judge({0.5 + 0x1p-24});
  EXPECT_THAT(wrong.wrong, ElementsAre(0));
  EXPECT_EQ(wrong.worst_share, infinity);
  EXPECT_FALSE(one(0, 0, 0).holds(0x1p-149));
  // The double has a radius, the refinement proves the answer exactly.
  const Refine exact = [](std::size_t, std::int64_t, int) { return Refined{0.5, 0, 0, 0}; };
  const Judgement judgement = one(0.5, 0x1p-54, 0).judge({0.5}, exact);
  EXPECT_TRUE(judgement.holds());
  EXPECT_EQ(judgement.escalations[1], 1);
  EXPECT_FALSE(one(0.5, 0x1p-54, 0).judge({0.5 + 0x1p-24}, exact).holds());
}

/// A refinement whose radius falls below the gap only from a given precision on.
Refine refine_at(int needed, double value, double low, std::vector<int>* asked) {
  return [=](std::size_t, std::int64_t, int bits) {
    asked->push_back(bits);
    return bits >= needed ? Refined{value, 0x1p-50, low, 0} : Refined{value, 1};
  };
}

TEST(Verdict, EscalatesUntilItDecides) {
  const std::vector<int> levels{106, 113, 256, 512, 1024, 2048, 4096};
  for (std::size_t needed = 0; needed < levels.size(); ++needed) {
    for (const double low : {0x1p-60, -0x1p-60}) {  // just inside, just outside
      std::vector<int> asked;
      const Judgement judgement =
          one(1, 0x1p-50, 0x1p-23).judge({1 + 0x1p-23}, refine_at(levels[needed], 1, low, &asked));
      EXPECT_THAT(asked, ::testing::ElementsAreArray(levels.begin(), levels.begin() + static_cast<long>(needed) + 1));
      EXPECT_EQ(judgement.holds(), low > 0);
      EXPECT_EQ(judgement.wrong.size(), low > 0 ? 0u : 1u);
      EXPECT_FALSE(judgement.undecided);
      EXPECT_EQ(judgement.escalations[std::min<std::size_t>(needed + 1, 4)], 1);
      EXPECT_EQ(judgement.escalations[0], 0);
    }
  }
  std::vector<int> asked;
  const Judgement never = one(1, 0x1p-50, 0x1p-23).judge({1 + 0x1p-23}, refine_at(5000, 1, 0, &asked));
  EXPECT_TRUE(never.undecided);
  EXPECT_FALSE(never.holds());
  EXPECT_THAT(never.wrong, IsEmpty());
  EXPECT_EQ(asked.size(), levels.size());
  const Refine nothing = [](std::size_t, std::int64_t, int) { return Refined{NAN, infinity}; };
  EXPECT_TRUE(one(1, 0x1p-50, 0x1p-23).judge({1 + 0x1p-23}, nothing).undecided);
}

TEST(Verdict, NoEscalationWhereDoubleIsEnough) {
  int calls = 0;
  const Refine counting = [&](std::size_t, std::int64_t, int) {
    ++calls;
    return Refined{1, 0};
  };
  EXPECT_TRUE(one(1, 0x1p-52, 0x1p-23).judge({1}, counting).holds());
  EXPECT_FALSE(one(1, 0x1p-52, 0x1p-23).judge({1.5}, counting).holds());
  EXPECT_EQ(calls, 0);
}

/// Escalation on a real row: a bound laid between what the double knows and what it does not.
TEST(Verdict, EscalatesThroughTheRealRefinement) {
  const Attention problem = make({.Tq = 2, .Tk = 9, .D = 5, .Dv = 3, .seed = 4});
  const Refine refine = refiner(problem.input());
  const Refined fine = refine(0, 2, 512);
  const double actual = static_cast<float>(fine.value);
  const double error = std::fabs(actual - fine.value);
  for (const double gap : {0x1p-70, 0x1p-84}) {
    // The double's ball is centred an ulp off, and its radius says so.
    Case case_in = one(std::nextafter(fine.value, 0), 0x1p-50, 0);
    const double side = actual > fine.value ? -1 : 1;  // |actual - exact| = error + side · low
    // error + side·low ∓ gap cannot be written in one double; the closest double bound lies within its own ulp.
    case_in.bounds.bound[0] = error;
    const bool inside = side * fine.low < 0;
    const Refine of_element = [&](std::size_t output, std::int64_t, int bits) { return refine(output, 2, bits); };
    const Judgement judgement = case_in.judge({actual}, of_element);
    ASSERT_GT(std::fabs(fine.low), gap) << "the case needs another seed";
    EXPECT_EQ(judgement.holds(), inside);
    EXPECT_FALSE(judgement.undecided);
    EXPECT_EQ(judgement.escalations[1], 1);
  }
}

TEST(Verdict, OpenElementsTakeTheirClassesFromTheBounds) {
  Case open = one(3e38, 0, 1e30);
  open.bounds.open[0] = 1;
  open.bounds.classes[0] = Class::finite | Class::plus_infinity;
  EXPECT_TRUE(open.holds(infinity));
  EXPECT_TRUE(open.holds(3e38));
  EXPECT_FALSE(open.holds(-infinity));
  EXPECT_FALSE(open.holds(NAN));
  EXPECT_FALSE(open.holds(1));
  EXPECT_EQ(open.judge({infinity}).overflow_open, 1);
  EXPECT_EQ(open.judge({3e38}).overflow_open, 1) << "counted though it lies within its bound";
  open.bounds.classes[0] = Class::plus_infinity;
  EXPECT_FALSE(open.holds(3e38));
  open.bounds.open[0] = 0;  // not open: the classes of the bounds count for nothing
  EXPECT_FALSE(open.holds(infinity));
  EXPECT_EQ(open.judge({infinity}).overflow_open, 0);
}

TEST(Verdict, TheWorstIsTheLargestShareAndRedComesFirst) {
  Case three;
  three.add(1, 0, 0.5);
  three.add(1, 0, 1);
  three.add(1, 0, 8);
  const Judgement good = three.judge({1.25, 1.25, 8});
  EXPECT_TRUE(good.holds());
  EXPECT_EQ(good.worst, 2);
  EXPECT_EQ(good.worst_share, 0.875);
  const Judgement red = three.judge({1.25, 3, 8});
  EXPECT_THAT(red.wrong, ElementsAre(1));
  EXPECT_EQ(red.worst, 1);
  EXPECT_EQ(red.worst_share, 2);
  const Judgement classes = three.judge({100, 3, NAN});
  EXPECT_THAT(classes.wrong, ElementsAre(0, 1, 2));
  EXPECT_EQ(classes.worst, 2);
  EXPECT_EQ(classes.worst_share, infinity);
}

TEST(Verdict, EveryFormatIsRead) {
  for (const Format format : {Format::f32, Format::f16, Format::bf16, Format::tf32, Format::e4m3, Format::e5m2}) {
    Case two;
    two.add(1.5, 0, 0);
    two.add(-0.25, 0, 0);
    EXPECT_TRUE(two.judge({1.5, -0.25}, {}, format).holds());
    EXPECT_THAT(two.judge({1.5, 0.25}, {}, format).wrong, ElementsAre(1));
    EXPECT_THAT(two.judge({NAN, -0.25}, {}, format).wrong, ElementsAre(0));
  }
}

TEST(Verdict, DecidesExactlyNearTheEdgesOfDouble) {
  EXPECT_TRUE(one(0, 0, 0x1p-149).holds(0x1p-149));
  EXPECT_FALSE(one(0, 0x1p-1074, 0x1p-149).holds(0x1p-149));
  EXPECT_FALSE(one(0x1p-1074, 0, 0).holds(0));
  EXPECT_TRUE(one(0x1p-1074, 0, 0x1p-1074).holds(0));
  EXPECT_TRUE(one(0x1p-1074, 0x1p-1074, 0x1p-1073).holds(0));
  EXPECT_FALSE(one(0x1p-1074, 0, 0x1p-1074).holds(-0x1p-149));
  const double most = std::numeric_limits<float>::max();
  EXPECT_TRUE(one(-most, 0, 2 * most).holds(most));
  EXPECT_FALSE(one(-most, 0, std::nextafter(2 * most, 0)).holds(most));
}

}  // namespace
}  // namespace nbx::oracle::testing
