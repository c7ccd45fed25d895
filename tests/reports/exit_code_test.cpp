#include "reports/exit_code.hpp"

#include <gtest/gtest.h>

#include "reports/entries.hpp"
#include "sample.hpp"

namespace nbx::reports {
namespace {

using contracts::exit_code;
using sample::RunResult;
using sample::State;
using Verdict = contracts::ControlResult::Verdict;

RunResult with(void (*change)(RunResult&)) {
  RunResult result = sample::green();
  change(result);
  return result;
}

TEST(ExitCode, IsZeroOnlyWhereSomethingHeldAndNothingFailed) {
  EXPECT_EQ(exit_code(sample::green(), false), 0);
  EXPECT_EQ(exit_code(sample::green(), true), 0);
  EXPECT_EQ(exit_code(RunResult{}, false), 4);
}

TEST(ExitCode, IsOneForEverythingRed) {
  const std::vector<RunResult> reds{
      with([](RunResult& r) { r.kernels[0].state = State::red; }),
      with([](RunResult& r) { r.kernels[0].red = 1; }),
      with([](RunResult& r) { r.cases = {sample::red_case()}; }),
      with([](RunResult& r) { r.controls[0].verdict = Verdict::missed; }),
      with([](RunResult& r) { r.findings = {sample::finding(false)}; }),
      with([](RunResult& r) { r.power = {sample::power(false)}; }),
      with([](RunResult& r) { r.packs[1].error = "no such file"; }),
  };
  for (std::size_t i = 0; i < reds.size(); ++i) EXPECT_EQ(exit_code(reds[i], false), 1) << i;
}

TEST(ExitCode, KnownFindingsAndUnjudgedControlsPass) {
  EXPECT_EQ(exit_code(with([](RunResult& r) {
                        r.kernels[0].state = State::known;
                        r.kernels[0].known = 1;
                        r.findings = {sample::finding(true)};
                        r.controls[0].verdict = Verdict::not_judged;
                      }),
                      true),
            0);
}

TEST(ExitCode, SkippedEvidenceIsRedOnlyUnderStrict) {
  for (const State state : {State::declined, State::pending, State::stale}) {
    RunResult result = sample::green();
    result.cases = {sample::skipped_case(state, "rows=1", "reason")};
    EXPECT_EQ(exit_code(result, false), 0);
    EXPECT_EQ(exit_code(result, true), 1);
  }
}

TEST(ExitCode, NothingCheckedNeverPasses) {
  // A kernel that ran no case, whatever it says of itself.
  EXPECT_EQ(exit_code(with([](RunResult& r) {
                        r.kernels[0].cases = 0;
                        r.controls.clear();
                      }),
                      false),
            4);
  EXPECT_EQ(exit_code(with([](RunResult& r) {
                        r.kernels[0].state = State::declined;
                        r.controls[0].verdict = Verdict::not_judged;
                      }),
                      false),
            4);
  EXPECT_EQ(exit_code(with([](RunResult& r) { r.unmatched = {"flahs"}; }), false), 4);
}

TEST(ExitCode, ControlsOrPowerAloneAreSomething) {
  EXPECT_EQ(exit_code(with([](RunResult& r) { r.kernels.clear(); }), false), 0);
  EXPECT_EQ(exit_code(with([](RunResult& r) {
                        r.kernels.clear();
                        r.controls.clear();
                      }),
                      false),
            0);
}

TEST(ExitCode, TheFirstThatAppliesCounts) {
  RunResult result;
  EXPECT_EQ(exit_code(result, false), 4);
  result.harness_errors = {"disk full"};
  EXPECT_EQ(exit_code(result, false), 3);
  result.cases = {sample::red_case()};
  EXPECT_EQ(exit_code(result, false), 1);
  result.interrupted = true;
  EXPECT_EQ(exit_code(result, false), 130);
}

TEST(ExitCode, ForBisectOnlyRedIsBad) {
  EXPECT_EQ(bisect_code(0), 0);
  EXPECT_EQ(bisect_code(1), 1);
  for (const int code : {2, 3, 4, 130, 127, 139}) EXPECT_EQ(bisect_code(code), 125);
}

// A viewer of the reports sees a failure exactly where the exit code says one.
TEST(ExitCode, AgreesWithTheEntriesOfTheReports) {
  std::vector<RunResult> results{
      RunResult{},
      sample::green(),
      sample::everything(),
      with([](RunResult& r) { r.packs[0].error = "x"; }),
      with([](RunResult& r) { r.findings = {sample::finding(false)}; }),
      with([](RunResult& r) { r.power = {sample::power(false)}; }),
      with([](RunResult& r) { r.controls[0].verdict = Verdict::missed; }),
      with([](RunResult& r) { r.harness_errors = {"x"}; }),
      with([](RunResult& r) { r.unmatched = {"x"}; }),
      with([](RunResult& r) { r.interrupted = true; }),
      with([](RunResult& r) { r.cases = {sample::skipped_case(State::declined, "rows=1", "x")}; })};
  for (std::size_t i = 0; i < results.size(); ++i) {
    for (const bool strict : {false, true}) {
      Report report = sample::report(results[i]);
      report.strict = strict;
      const EntryCounts counts = count(entries(report));
      EXPECT_EQ(counts.failed + counts.errors > 0, exit_code(results[i], strict) != 0)
          << i << (strict ? " strict" : "");
    }
  }
}

}  // namespace
}  // namespace nbx::reports
