#include "reports/markdown.hpp"

#include <gmock/gmock.h>

#include "sample.hpp"

namespace nbx::reports {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Markdown, ShowsSummaryFailuresKernelsAndSkipped) {
  const std::string text = to_markdown(sample::report(sample::everything()));
  EXPECT_THAT(text, HasSubstr("```text\nSUMMARY 3 kernels: 2 pass gates 1-4, 1 fail,"));
  EXPECT_THAT(text, HasSubstr("**controls** c.missed\n\n```text\nmissed: gate1.reference stayed green\n"));
  EXPECT_THAT(text, HasSubstr("| FAIL | flash.simt.f32 | 890 | gate1.reference(B=1,"));
  EXPECT_THAT(text, HasSubstr("| softmax.tile.f32/gate3.twin(twin) | pending: no H200 record of this problem |"));
  EXPECT_THAT(text, HasSubstr("- CUDA: no device\n"));
  EXPECT_THAT(text, Not(HasSubstr("Cut here")));
}

TEST(Markdown, EscapesCellsAndFences) {
  Report report = sample::report(sample::everything());
  report.result.cases[0].problem = "a|b*c_d<e>";
  report.result.cases[0].red->lines = {{"wrong", "```` four"}};
  const std::string text = to_markdown(report);
  EXPECT_THAT(text, HasSubstr("gate1.reference(a\\|b\\*c\\_d\\<e\\>)"));
  EXPECT_THAT(text, HasSubstr("\n`````text\nwrong ```` four"));
}

TEST(Markdown, StaysBelowItsLimitAndSaysWhatWasCut) {
  contracts::RunResult result = sample::everything();
  for (int i = 0; i < 3000; ++i) {
    result.cases.push_back(sample::red_case());
    result.cases.back().problem = "i=" + std::to_string(i);
  }
  const std::string text = to_markdown(sample::report(result));
  EXPECT_LT(text.size(), markdown_limit);
  EXPECT_GT(text.size(), markdown_limit / 2);
  EXPECT_THAT(text, HasSubstr("SUMMARY 3 kernels"));
  EXPECT_THAT(text, testing::ContainsRegex("Cut here to stay below 1,048,576 bytes. Left out: [0-9,]+ failures, 4 "
                                           "kernels, 4 skipped tests, 1 note. The other reports have them.\n"));
}

TEST(Markdown, LeavesOutAnOverlongPieceButKeepsTheEnd) {
  contracts::RunResult result = sample::everything();
  result.cases[0].red->lines = {{"wrong", std::string(10'000, 'x')}};
  const std::string text = to_markdown(sample::report(result), 4096);
  EXPECT_LT(text.size(), 4096U);
  EXPECT_THAT(text, HasSubstr("Left out: 5 failures, "));
}

}  // namespace
}  // namespace nbx::reports
