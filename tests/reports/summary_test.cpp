#include "reports/summary.hpp"

#include <gmock/gmock.h>

#include "reports/sections.hpp"
#include "sample.hpp"

namespace nbx::reports {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

constexpr const char* everything = R"(nbx-contract 0.1   packs cpu, controls   seed 1   default tier
  cpu, controls   g++ 12.2.0 -O3, imitates sm_90

  ok        softmax.tile.f32     412 cases   worst 0.31 of bound    gate1.reference(rows=64,n=4095,sink)           0.4 s
  known     math.published.f16   655 cases   1 finding: a NaN key is scrubbed to zero                              0.6 s
  FAIL      flash.simt.f32        1 of 890   gate1.reference(B=1,H=4,Hk=2,Tq=130,Tk=257,D=128,causal)              2.0 s
  declined  softmax.tile.bf16      0 cases   a row of 5,000 features; the tile holds 4,096                         0.0 s

packs that did not load
  ./mine.so   it exports no nbx_pack_open

flash.simt.f32  gate1.reference: every element lies within its proven bound
  case       flash.simt.f32/gate1.reference(B=1,H=4,Hk=2,Tq=130,Tk=257,D=128,causal)
  wrong      512 of 66,560 elements   first [0,1,128,0]   worst [0,1,129,17]
  expected   0x1.91eb8p-3   0.196250   ± 3.1e-17
  actual     0x1.7ae14p-3   0.185000
  again      nbx-contract explain 'flash.simt.f32/gate1.reference(B=1,H=4,Hk=2,Tq=130,Tk=257,D=128,causal)' --seed 1

missed control c.missed
  mutates    softmax.tile.f32
  planted    the last key is left out
  red at     no clause
  missed     gate1.reference stayed green
  again      ./nbx-contract run c.missed --seed 1

stale findings: the planted problem is green, so the entry has to go
  mended     math.published.f16 gate1.reference: a NaN key is scrubbed to zero

live mutants: no problem tells them from the reference (gate1.power)
  drop the last key   softmax.tile.f32 (+2), 64; best seen at 0.50 × the bound by rows=64,n=64,normal

declined
  softmax.tile.bf16   1 case: a row of 5,000 features; the tile holds 4,096

pending
  softmax.tile.f32   1 case: no H200 record of this problem

stale
  softmax.tile.f32   1 case: the record is older than the build

controls apart
  c.equivalent   equivalent: the last key is left out
  c.within       within bound, largest 0.91 of it: the last key is left out
  not judged     1 control: one of its problems is in another shard

skipped, never passed: 1 declined, 1 pending, 1 stale

  judged     4,000,000 elements; decided past double, per million: double-double 4.5, 113 bits 0.50

note: CUDA: no device

SUMMARY 3 kernels: 2 pass gates 1-4, 1 fail, 1 known findings; 2 controls: 1 red as planted, 1 missed
)";

TEST(Summary, ShowsEverythingOnce) { EXPECT_EQ(summary(sample::report(sample::everything()), {}), everything); }

TEST(Summary, OfAGreenRunIsShort) {
  EXPECT_EQ(summary(sample::report(sample::green()), {.all = false, .width = 120, .paint = {}}),
            "SUMMARY 1 kernels: 1 pass gates 1-4, 0 fail, 0 known findings; 1 controls: 1 red as planted, 0 missed\n");
}

TEST(Summary, InBriefLeavesOutPlainPassesAlone) {
  const std::string text = summary(sample::report(sample::everything()), {.all = false, .width = 120, .paint = {}});
  for (const char* shown : {"  known     math.published", "  FAIL      flash.simt", "  declined  softmax.tile.bf16"}) {
    EXPECT_THAT(text, HasSubstr(shown));
  }
  EXPECT_THAT(text, Not(HasSubstr("  ok  ")));
}

TEST(Summary, LastLineHasTheAgreedForm) {
  Tally tally;
  tally.kernels = tally.pass = 142;
  tally.known_findings = 2;
  tally.controls = tally.red_as_planted = 33;
  EXPECT_EQ(
      summary_line({}, tally),
      "SUMMARY 142 kernels: 142 pass gates 1-4, 0 fail, 2 known findings; 33 controls: 33 red as planted, 0 missed");
}

TEST(Summary, OfGate5CountsItsCasesAlone) {
  contracts::RunResult result;
  result.codegen = "75 kernels × 3 architectures by nvcc 13.0.88, g++ 12.2.0";
  result.codegen_cases = result.cases_run = 450;
  result.cases = {sample::skipped_case(sample::State::pending, "sm_90", "no record"),
                  sample::skipped_case(sample::State::stale, "sm_90", "other code"),
                  sample::skipped_case(sample::State::stale, "sm_80", "other code"), sample::red_case()};
  const Report report = sample::report(result);
  EXPECT_THAT(
      summary(report, {}),
      EndsWith("\nSUMMARY gate 5: 75 kernels × 3 architectures by nvcc 13.0.88, g++ 12.2.0: 450 cases: 446 hold, "
               "1 red, 1 pending, 2 stale\n"));
  EXPECT_THAT(summary(report, {}), Not(HasSubstr("gates 1-4")));
}

TEST(Summary, NeverCallsAnEmptyRunGood) {
  const std::string text = summary(sample::report({}), {.all = true, .width = 120, .paint = {.colour = true}});
  EXPECT_THAT(text, HasSubstr("nothing was checked"));
  EXPECT_THAT(text, HasSubstr("\x1b[1;31mSUMMARY 0 kernels"));
}

TEST(Summary, ColoursOnlyWhereAsked) {
  const Report report = sample::report(sample::everything());
  EXPECT_THAT(summary(report, {}), Not(HasSubstr("\x1b")));
  const std::string coloured = summary(report, {.all = true, .width = 120, .paint = {.colour = true}});
  EXPECT_THAT(coloured, HasSubstr("\x1b[32mok      \x1b[0m"));
  EXPECT_THAT(coloured, HasSubstr("\x1b[1;31mFAIL    \x1b[0m"));
}

TEST(Summary, ClipsCasesToTheTerminal) {
  const std::string text = summary(sample::report(sample::everything()), {.all = true, .width = 90, .paint = {}});
  EXPECT_THAT(text, HasSubstr("  FAIL      flash.simt.f32        1 of 890   gate1.reference(…,D=128,causal) "));
}

TEST(Summary, ShowsSomeOfManyRedCasesInFullAndSaysHowManyMore) {
  contracts::RunResult result = sample::green();
  for (int i = 0; i < 20; ++i) {
    result.cases.push_back(sample::red_case());
    result.cases.back().problem = "seed=" + std::to_string(i);
  }
  const std::string text = summary(sample::report(result), {});
  EXPECT_THAT(text, HasSubstr("  case       flash.simt.f32/gate1.reference(seed=2)\n"));
  EXPECT_THAT(text, HasSubstr("  also       flash.simt.f32/gate1.reference(seed=3)\n"));
  EXPECT_THAT(text, HasSubstr("  also       flash.simt.f32/gate1.reference(seed=12)\n"));
  EXPECT_THAT(text, HasSubstr("  and        7 more, which --json lists in full\n"));
  EXPECT_THAT(text, Not(HasSubstr("seed=13")));
}

TEST(Summary, TellsTheReasonOfSeveralFindingsOnceAndWrapsLongText) {
  contracts::RunResult result = sample::everything();
  contracts::FindingResult second = sample::finding(true);
  second.id = "nan-scrubbed-later";
  result.findings.push_back(second);
  result.controls[1].planted = std::string(100, 'x') + " and the rest";
  const std::string text = summary(sample::report(result), {});
  EXPECT_THAT(text, HasSubstr("655 cases   2 findings: a NaN key is scrubbed to zero   "));
  EXPECT_THAT(text, HasSubstr("  planted    " + std::string(100, 'x') + " and\n             the rest\n"));
}

TEST(Summary, TellsReasonsThatDifferInNumbersAloneOnce) {
  contracts::RunResult result = sample::green();
  result.cases = {sample::skipped_case(sample::State::declined, "n=5000", "a row of 5,000 features"),
                  sample::skipped_case(sample::State::declined, "n=6000", "a row of 6,000 features"),
                  sample::skipped_case(sample::State::declined, "axis=0", "a strided axis")};
  EXPECT_THAT(summary(sample::report(result), {}),
              HasSubstr("declined\n"
                        "  softmax.tile.f32   2 cases, such as: a row of 5,000 features\n"
                        "  softmax.tile.f32   1 case: a strided axis\n\n"));
}

TEST(Summary, TellsLiveMutantsOnce) {
  contracts::RunResult result = sample::green();
  result.power = {sample::power(false)};
  result.cases = {sample::red_case()};
  result.cases[0].clause = "gate1.power";
  EXPECT_THAT(summary(sample::report(result), {}), Not(HasSubstr("live mutants")));
}

TEST(Summary, SaysThatItWasInterruptedAndWhatTheHarnessCouldNot) {
  contracts::RunResult result = sample::green();
  result.interrupted = true;
  result.harness_errors = {"cannot write x: its folder does not exist"};
  result.unmatched = {"flahs*"};
  const std::string text = summary(sample::report(result), {});
  EXPECT_THAT(text, HasSubstr("interrupted: only what was finished is reported\n"));
  EXPECT_THAT(text, HasSubstr("harness error cannot write x: its folder does not exist\n"));
  EXPECT_THAT(text, HasSubstr("no match for flahs*\n"));
}

TEST(LooseFamilies, AreThoseWhoseWorstShareStaysUnderAFiftieth) {
  contracts::RunResult result;
  const auto kernel = [](const char* name, double share) {
    contracts::KernelResult one = sample::passing_kernel();
    one.kernel = name;
    one.worst_share = share;
    return one;
  };
  result.kernels = {kernel("softmax.a.f32", 0.001), kernel("softmax.b.f32", 0.019), kernel("math.a.f32", 0.001),
                    kernel("math.b.f32", 0.02), kernel("rows.a.f32", 0)};
  result.kernels.back().worst_case.clear();  // nothing was measured of it
  const auto loose = loose_families(result);
  ASSERT_EQ(loose.size(), 1U);
  EXPECT_EQ(loose[0].first, "softmax");
  EXPECT_EQ(loose[0].second, 0.019);
  EXPECT_THAT(quality(result, {}), HasSubstr("softmax: worst 0.019 of bound, under 1/50"));
}

}  // namespace
}  // namespace nbx::reports
