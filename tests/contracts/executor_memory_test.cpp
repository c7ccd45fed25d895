// Kernels that touch memory they have no right to, or leave out what they must write.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "tests/contracts/run_faults.hpp"

namespace nbx::contracts {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Kind = Outcome::Kind;
using Fault = MemoryFault::Kind;

std::string text(const Bytes& bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

TEST_F(RunFaults, AWritePastTheEndHitsAProtectedPage) {
  const Outcome outcome = executor.execute(small_call("copy.write_past_end"));
  EXPECT_EQ(outcome.kind, Kind::crashed);
  EXPECT_EQ(outcome.stage, "run");
  EXPECT_EQ(outcome.message, "SIGSEGV in run: write past the end of y, at its end + 0 bytes");
  EXPECT_FALSE(outcome.wrote_nothing);
  EXPECT_THAT(outcome.outputs, IsEmpty());
  expect_recovery();
  EXPECT_EQ(executor.restarts(), 1);
}

TEST_F(RunFaults, AReadPastTheEndHitsAProtectedPage) {
  EXPECT_EQ(executor.execute(small_call("copy.read_past_end")).message,
            "SIGSEGV in run: read past the end of x, at its end + 4 bytes");
  expect_recovery();
}

TEST_F(RunFaults, AWriteIntoTheSlackOfAnAlignmentIsFound) {
  for (const Poison poison : poisons) {
    if (poison == Poison::zeros) continue;
    Call call = small_call("copy.write_past_end_aligned");
    call.poison = poison;
    const Outcome outcome = executor.execute(call);
    EXPECT_EQ(outcome.kind, Kind::ran) << outcome.message;
    EXPECT_THAT(outcome.faults, ElementsAre(IsFault(Fault::guard_after, "y", 60, 1)));
    EXPECT_THAT(outcome.outputs, ElementsAre(counted(60)));
  }
}

TEST_F(RunFaults, AWriteBeforeTheStartIsFound) {
  EXPECT_THAT(executor.execute(small_call("copy.write_before")).faults,
              ElementsAre(IsFault(Fault::guard_before, "y", -3, 1)));
  EXPECT_THAT(executor.execute(small_call("copy.write_before", {}, {{}, 4})).faults,
              ElementsAre(IsFault(Fault::gap, "y", -3, 1)))
      << "before element 0, but within the storage";
}

TEST_F(RunFaults, AWriteIntoAGapIsFound) {
  for (const Poison poison : poisons) {
    Call call = small_call("copy.write_gap", {}, {{8, 1}});
    call.poison = poison;
    EXPECT_THAT(executor.execute(call).faults, ElementsAre(IsFault(Fault::gap, "y", 20, 1)));
  }
}

TEST_F(RunFaults, AChangedInputIsFound) {
  EXPECT_THAT(executor.execute(small_call("copy.change_input")).faults,
              ElementsAre(IsFault(Fault::input_changed, "x", 5, 1)));
  EXPECT_THAT(executor.execute(small_call("copy.change_input", {{1, 3}, 2})).faults,
              ElementsAre(IsFault(Fault::input_changed, "x", 5, 1)));
}

TEST_F(RunFaults, AnUnwrittenElementKeepsItsPoison) {
  std::set<std::string> tails;
  for (const Poison poison : poisons) {
    Call call = small_call("copy.leave_unwritten");
    call.poison = poison;
    const Outcome outcome = executor.execute(call);
    ASSERT_EQ(outcome.outputs.size(), 1u);
    tails.insert(text(outcome.outputs[0]).substr(56));
  }
  EXPECT_EQ(tails.size(), 5u);
}

TEST_F(RunFaults, WorkspaceIsPoisonedAlignedAndGuarded) {
  std::set<std::string> contents;
  for (const Poison poison : poisons) {
    Call call = copy_call("copy.show_workspace", {25}, f32, counted(100));
    call.poison = poison;
    const Outcome outcome = executor.execute(call);
    ASSERT_EQ(outcome.kind, Kind::ran) << outcome.message;
    EXPECT_EQ(outcome.workspace_bytes, 100u);
    EXPECT_THAT(outcome.faults, IsEmpty());
    contents.insert(text(outcome.outputs.at(0)));
  }
  EXPECT_EQ(contents.size(), 5u) << "a call saw what an earlier one left in the workspace";
  EXPECT_THAT(executor.execute(small_call("copy.write_past_workspace")).faults,
              ElementsAre(IsFault(Fault::workspace_guard, "workspace", 102, 1)));
}

TEST_F(RunFaults, LiesAboutTheWorkspaceAreBroken) {
  const Outcome fickle = executor.execute(small_call("copy.fickle_workspace"));
  EXPECT_EQ(fickle.kind, Kind::broken);
  EXPECT_EQ(fickle.stage, "workspace_bytes");
  EXPECT_THAT(fickle.message, HasSubstr("two equal queries gave 64 and 128 bytes"));
  const Outcome absurd = executor.execute(small_call("copy.absurd_workspace"));
  EXPECT_EQ(absurd.kind, Kind::broken);
  EXPECT_THAT(absurd.message, HasSubstr("more than 64 GiB"));
}

}  // namespace
}  // namespace nbx::contracts
