#include "oracle/exact.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "oracle/plain.hpp"
#include "problems.hpp"

namespace nbx::oracle::testing {
namespace {

using ::testing::IsEmpty;

const Format formats[] = {Format::f32, Format::f16, Format::bf16, Format::e4m3, Format::e5m2};

TEST(ExactCases, EvaluateEnclosesThem) {
  const Arithmetic arithmetic = plain_f32();
  for (const Format format : formats) {
    for (const std::uint64_t seed : {1u, 2u, 3u}) {
      for (const ExactCase& problem : exact_cases(format, seed)) {
        EXPECT_THAT(missed(problem, evaluate(problem.input, {&arithmetic, 1})), IsEmpty()) << problem.name;
      }
    }
  }
}

/// The plain reference, to the 200 bits that it has at least.
TEST(ExactCases, PlainGivesThem) {
  using Real = PlainReal<256>;
  for (const Format format : formats) {
    for (const ExactCase& problem : exact_cases(format, 4)) {
      const auto plainly = plain<256>(problem.input);
      ASSERT_EQ(plainly[0].size(), problem.o.size());
      for (std::size_t at = 0; at < problem.o.size(); ++at) {
        const Real exact = static_cast<Real>(problem.o[at]);
        ASSERT_TRUE(abs(plainly[0][at] - exact) <= ldexp(Real(1), -200)) << problem.name << " o " << at;
      }
      for (std::size_t at = 0; at < problem.lse_count.size(); ++at) {
        if (problem.lse_count[at] == 0) {
          ASSERT_TRUE(isinf(plainly[1][at]) && plainly[1][at] < 0) << problem.name << " lse " << at;
          continue;
        }
        const Real exact = static_cast<Real>(problem.lse_score[at]) + log(Real(problem.lse_count[at]));
        ASSERT_TRUE(abs(plainly[1][at] - exact) <= ldexp(Real(1), -200)) << problem.name << " lse " << at;
      }
    }
  }
}

/// `missed` sees what it is there to see.
TEST(ExactCases, AShiftedEvaluationIsMissed) {
  const Arithmetic arithmetic = plain_f32();
  const std::vector<ExactCase> cases = exact_cases(Format::f32, 1);
  ASSERT_GE(cases.size(), 10u);
  for (const ExactCase& problem : cases) {
    Evaluation evaluation = evaluate(problem.input, {&arithmetic, 1});
    Expected& o = evaluation.outputs[0].expected;
    const std::uint8_t was = o.classes[3];
    o.classes[3] = Class::not_a_number;
    EXPECT_THAT(missed(problem, evaluation), ::testing::ElementsAre("o[3]")) << problem.name;
    o.classes[3] = was;
    if (was == Class::finite) {
      o.value[3] += 2 * o.radius[3] + 1e-13;
      EXPECT_THAT(missed(problem, evaluation), ::testing::ElementsAre("o[3]")) << problem.name;
    }
    evaluation.outputs[0].expected.value.pop_back();
    EXPECT_FALSE(missed(problem, evaluation).empty());
  }
}

}  // namespace
}  // namespace nbx::oracle::testing
