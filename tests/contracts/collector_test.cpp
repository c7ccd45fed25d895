// What a run adds up to: controls, findings and power, from cases made by hand.
#include "contracts/collector.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "contracts/formats.hpp"

namespace nbx::contracts {
namespace {

using testing::HasSubstr;

class Collected : public testing::Test {
 protected:
  Collected() {
    PackInfo pack;
    pack.name = "hand";
    KernelInfo honest;
    honest.name = "math.published.f32";
    honest.family = "attention";
    honest.format = f32_type;
    KernelInfo control = honest;
    control.name = "math.published.f32.fault";
    control.control = ControlInfo{honest.name, "a fault", {"gate3.rows"}, {}, "", false};
    pack.kernels = {honest, control};
    inventory_.packs.push_back({"hand.so", std::move(pack)});
    const auto& kernels = inventory_.packs[0].info.kernels;
    inventory_.honest.push_back({0, &kernels[0], family_named("attention"), true});
    inventory_.controls.push_back({0, &kernels[1], family_named("attention"), true});
    plan_.judged_controls = {&inventory_.controls[0]};
  }

  static Verdict red(const std::string& wrong) {
    Verdict verdict{.kind = Verdict::Kind::red};
    verdict.red.lines = {{"wrong", wrong}};
    return verdict;
  }
  void control_case(const char* clause, const Verdict& verdict) {
    collector_.add_control_case(inventory_.controls[0], clause, "B=1", verdict);
  }
  void honest_case(const char* clause, const char* problem, const Verdict& verdict) {
    collector_.add_case(inventory_.honest[0], clause, "a promise", problem, verdict, 0);
  }
  ControlInfo& planted() { return *inventory_.packs[0].info.kernels[1].control; }

  Inventory inventory_;
  RunOptions options_;
  Plan plan_;
  Collector collector_{inventory_, options_};
};

TEST_F(Collected, AControlIsRedAsPlantedOnlyAtWhatItNames) {
  control_case("gate1.reference", Verdict::passed());
  control_case("gate3.rows", red("other bits"));
  EXPECT_EQ(collector_.result(plan_, true).controls.at(0).verdict, ControlResult::Verdict::red_as_planted);
}

TEST_F(Collected, AControlThatStaysGreenIsMissed) {
  control_case("gate3.rows", Verdict::passed());
  const ControlResult control = collector_.result(plan_, true).controls.at(0);
  EXPECT_EQ(control.verdict, ControlResult::Verdict::missed);
  EXPECT_THAT(control.why, HasSubstr("gate3.rows stayed green"));
}

TEST_F(Collected, AControlThatWasNeverAskedIsMissed) {
  EXPECT_THAT(collector_.result(plan_, true).controls.at(0).why, HasSubstr("gate3.rows was never asked"));
}

TEST_F(Collected, AControlThatTurnsRedEarlierToIsMissed) {
  control_case("gate1.reference", red("out of bound"));
  control_case("gate3.rows", red("other bits"));
  const ControlResult control = collector_.result(plan_, true).controls.at(0);
  EXPECT_EQ(control.verdict, ControlResult::Verdict::missed);
  EXPECT_THAT(control.why, HasSubstr("gate1.reference turned red too"));
}

TEST_F(Collected, ACrashCountsOnlyWhereOneWasPlantedAndMustThenCome) {
  control_case("gate3.rows", red("the kernel crashed (in run)"));
  EXPECT_THAT(collector_.result(plan_, true).controls.at(0).why, HasSubstr("no crash was planted"));
  planted().crashes = true;
  EXPECT_EQ(collector_.result(plan_, true).controls.at(0).verdict, ControlResult::Verdict::red_as_planted);
}

TEST_F(Collected, APlantedCrashThatDoesNotComeIsMissed) {
  planted().crashes = true;
  control_case("gate3.rows", red("other bits"));
  EXPECT_THAT(collector_.result(plan_, true).controls.at(0).why, HasSubstr("none came"));
}

TEST_F(Collected, NoControlIsJudgedInARunThatDidNotEnd) {
  control_case("gate3.rows", red("other bits"));
  EXPECT_EQ(collector_.result(plan_, false).controls.at(0).verdict, ControlResult::Verdict::not_judged);
}

constexpr char planted_problem[] = "B=1,H=2,Hk=1,Tq=8,Tk=70,D=32,normal,plant=nan_key";

TEST_F(Collected, AFindingThatShowsIsKnownAndCounted) {
  honest_case("gate1.reference", planted_problem, red("finite where NaN is due"));
  const RunResult result = collector_.result(plan_, true);
  EXPECT_EQ(result.cases.at(0).state, State::known);
  EXPECT_TRUE(result.findings.at(0).showed);
  EXPECT_EQ(result.kernels.at(0).state, State::known);
}

TEST_F(Collected, AFindingWhosePlantIsGreenIsStaleAndFailsTheRun) {
  honest_case("gate1.reference", planted_problem, Verdict::passed());
  const RunResult result = collector_.result(plan_, true);
  EXPECT_TRUE(result.findings.at(0).stale());
}

TEST_F(Collected, AFindingHidesNoRedElsewhere) {
  honest_case("gate1.reference", "B=1,H=2,Hk=1,Tq=8,Tk=70,D=32,normal", red("out of bound"));
  honest_case("gate2.repeat", planted_problem, red("other bits"));
  const RunResult result = collector_.result(plan_, true);
  EXPECT_EQ(result.cases.at(0).state, State::red);
  EXPECT_EQ(result.cases.at(1).state, State::red);
  EXPECT_TRUE(result.findings.empty());
}

TEST_F(Collected, AMutantIsKilledByTheClearestProblemAndAliveBelowTwoBounds) {
  collector_.add_sight({"math.published.f32", "drop_tile", "blind", 64, 0.5});
  collector_.add_sight({"math.published.f32", "drop_tile", "sharp", 64, 40});
  collector_.add_sight({"math.published.f32", "zero_row", "blind", 64, 1.9});
  const RunResult result = collector_.result(plan_, true);
  ASSERT_EQ(result.power.size(), 2u);
  EXPECT_TRUE(result.power[0].killed);
  EXPECT_EQ(result.power[0].problem, "sharp");
  EXPECT_FALSE(result.power[1].killed);
  EXPECT_EQ(result.kernels.at(0).red, 1) << "a live mutant is red";
}

TEST_F(Collected, APromiseThatAsksNothingIsRed) {
  auto& promises = inventory_.packs[0].info.kernels[0].equalities;
  promises = {{"gate3.grid", "", ""}, {"gate3.rows", "", ""}, {"gate3.pad", "", "not promised"}};
  honest_case("gate3.rows", "B=1", Verdict::passed());
  const RunResult result = collector_.result(plan_, true);
  std::vector<std::string> reds;
  for (const CaseResult& one : result.cases)
    if (one.state == State::red) reds.push_back(one.name());
  EXPECT_THAT(reds, testing::ElementsAre("math.published.f32/gate3.grid(any)"));
  EXPECT_EQ(result.kernels.at(0).state, State::red);
}

TEST_F(Collected, APromiseIsNotMissedInARunOfAPart) {
  inventory_.packs[0].info.kernels[0].equalities = {{"gate3.grid", "", ""}};
  honest_case("gate3.rows", "B=1", Verdict::passed());
  EXPECT_EQ(collector_.result(plan_, false).kernels.at(0).red, 0);
  options_.patterns = {"*"};
  EXPECT_EQ(collector_.result(plan_, true).kernels.at(0).red, 0);
  options_.patterns = {};
  options_.tier = Tier::quick;
  EXPECT_EQ(collector_.result(plan_, true).kernels.at(0).red, 0);
}

TEST_F(Collected, NothingAskedIsNoCase) {
  honest_case("gate1.reference", "B=1", Verdict{});
  EXPECT_TRUE(collector_.result(plan_, true).cases.empty());
}

}  // namespace
}  // namespace nbx::contracts
