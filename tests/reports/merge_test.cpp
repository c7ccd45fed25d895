#include "reports/merge.hpp"

#include <gmock/gmock.h>

#include "reports/exit_code.hpp"
#include "reports/tally.hpp"
#include "sample.hpp"

namespace nbx::reports {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Verdict = contracts::ControlResult::Verdict;

Shard shard(int i, int n, contracts::RunResult result) {
  Report report = sample::report(std::move(result));
  report.shard = i;
  report.shards = n;
  return {"shard" + std::to_string(i) + ".json", report, ""};
}

int code(const Report& report) { return exit_code(report.result, report.strict); }

TEST(Merge, AddsUpGreenShards) {
  contracts::RunResult second = sample::green();
  second.kernels[0].worst_share = 0.5;
  second.kernels[0].worst_case = "softmax.tile.f32/gate1.reference(rows=1)";
  second.power.clear();
  second.controls[0].verdict = Verdict::not_judged;
  const Report whole = merged({shard(1, 2, sample::green()), shard(2, 2, second)});
  EXPECT_THAT(whole.result.harness_errors, IsEmpty());
  ASSERT_EQ(whole.result.kernels.size(), 1U);
  const contracts::KernelResult& kernel = whole.result.kernels[0];
  EXPECT_EQ(kernel.cases, 824);
  EXPECT_EQ(kernel.worst_share, 0.5);
  EXPECT_EQ(kernel.worst_case, "softmax.tile.f32/gate1.reference(rows=1)");
  EXPECT_THAT(kernel.escalations, ElementsAre(3'999'980, 18, 2, 0, 0));
  EXPECT_EQ(kernel.elements, 4'000'000);
  EXPECT_EQ(whole.result.cases_run, 824);
  EXPECT_EQ(whole.result.packs.size(), 2U);
  EXPECT_EQ(whole.result.power.size(), 1U);
  EXPECT_EQ(tally(whole.result).red_as_planted, 1);
  EXPECT_EQ(whole.shards, 1);
  EXPECT_EQ(code(whole), 0);
}

TEST(Merge, ARedShardMakesTheWholeRed) {
  contracts::RunResult red = sample::green();
  red.kernels[0].state = sample::State::red;
  red.kernels[0].red = 1;
  for (const bool first : {true, false}) {
    const Report whole =
        merged({shard(1, 2, first ? red : sample::green()), shard(2, 2, first ? sample::green() : red)});
    EXPECT_EQ(whole.result.kernels[0].state, sample::State::red);
    EXPECT_EQ(tally(whole.result).fail, 1);
    EXPECT_EQ(code(whole), 1);
  }
}

TEST(Merge, AKernelThatRanAnywhereIsNotDeclined) {
  contracts::RunResult declined = sample::green();
  declined.kernels[0] = {};
  declined.kernels[0].kernel = "softmax.tile.f32";
  declined.kernels[0].pack = "cpu";
  declined.kernels[0].state = sample::State::declined;
  declined.kernels[0].declined = 3;
  const Report whole = merged({shard(1, 2, declined), shard(2, 2, sample::green())});
  EXPECT_EQ(whole.result.kernels[0].state, sample::State::pass);
  EXPECT_EQ(whole.result.kernels[0].declined, 3);
  EXPECT_EQ(whole.result.kernels[0].worst_share, 0.314);
}

TEST(Merge, KeepsTheCaseOfAnExactAnswer) {
  contracts::RunResult exact = sample::green(), unmeasured = sample::green();
  exact.kernels[0].worst_share = 0;
  unmeasured.kernels[0].worst_share = 0;
  unmeasured.kernels[0].worst_case.clear();
  EXPECT_EQ(merged({shard(1, 2, unmeasured), shard(2, 2, exact)}).result.kernels[0].worst_case,
            exact.kernels[0].worst_case);
  EXPECT_EQ(merged({shard(1, 2, exact), shard(2, 2, unmeasured)}).result.kernels[0].worst_case,
            exact.kernels[0].worst_case);
}

TEST(Merge, AFindingIsStaleOnlyIfItShowedNowhere) {
  contracts::RunResult showed = sample::green(), not_judged = sample::green(), green = sample::green();
  showed.kernels[0].kernel = not_judged.kernels[0].kernel = "math.published.f16";
  showed.findings = {sample::finding(true)};
  green.findings = {sample::finding(false)};
  not_judged.findings = {sample::finding(false)};
  not_judged.findings[0].judged = false;
  EXPECT_EQ(code(merged({shard(1, 2, showed), shard(2, 2, green)})), 0);
  const Report shows = merged({shard(1, 2, not_judged), shard(2, 2, showed)});
  EXPECT_EQ(code(shows), 0);
  EXPECT_EQ(tally(shows.result).known_findings, 1);
  EXPECT_EQ(shows.result.kernels[0].findings, 1);
  EXPECT_EQ(code(merged({shard(1, 2, not_judged), shard(2, 2, green)})), 1);
}

TEST(Merge, AMissedControlStaysMissed) {
  contracts::RunResult missed = sample::green();
  missed.controls[0].verdict = Verdict::missed;
  EXPECT_EQ(code(merged({shard(1, 2, missed), shard(2, 2, sample::green())})), 1);
  EXPECT_EQ(code(merged({shard(1, 2, sample::green()), shard(2, 2, missed)})), 1);
}

TEST(Merge, AMissingOrDoubledOrForeignShardFails) {
  const auto errors = [](const std::vector<Shard>& shards) {
    const Report whole = merged(shards);
    EXPECT_EQ(code(whole), 3);
    return whole.result.harness_errors;
  };
  EXPECT_THAT(errors({shard(1, 3, sample::green()), shard(3, 3, sample::green())}),
              ElementsAre("shard 2 of 3 is missing"));
  EXPECT_THAT(errors({shard(1, 2, sample::green()), shard(2, 2, sample::green()), shard(2, 2, sample::green())}),
              ElementsAre("shard2.json is shard 2 of 2 a second time"));
  contracts::RunResult other = sample::green();
  other.seed = 7;
  EXPECT_THAT(errors({shard(1, 2, sample::green()), shard(2, 2, other)}),
              ElementsAre(HasSubstr("shard2.json is of another run: seed 7"), "shard 2 of 2 is missing"));
  contracts::RunResult built = sample::green();
  built.packs[0].toolchain = "clang++ 14";
  EXPECT_THAT(errors({shard(1, 2, sample::green()), shard(2, 2, built)}),
              ElementsAre("the shards ran different builds of pack cpu"));
  EXPECT_THAT(errors({shard(1, 1, sample::green()), {"x.json", std::nullopt, "No such file or directory"}}),
              ElementsAre("x.json: No such file or directory"));
}

TEST(Merge, OfNothingReadableFails) {
  EXPECT_EQ(code(merged({{"x.json", std::nullopt, "No such file or directory"}})), 3);
}

}  // namespace
}  // namespace nbx::reports
