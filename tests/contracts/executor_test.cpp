// Honest calls, and refusals.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "tests/contracts/run_faults.hpp"

namespace nbx::contracts {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Kind = Outcome::Kind;
using Fault = MemoryFault::Kind;

TEST_F(RunFaults, APackSaysWhatItHolds) {
  PackError error;
  const auto info = executor.open(&error);
  ASSERT_TRUE(info) << error.reason;
  EXPECT_EQ(info->name, "run_faults");
  EXPECT_EQ(info->device.device_type, kDLCPU);
  EXPECT_TRUE(info->can_guard);
  ASSERT_GT(info->kernels.size(), 20u);
  EXPECT_EQ(info->kernels[0].name, "copy.plain");
  EXPECT_EQ(info->kernels[0].family, "copy");
  EXPECT_EQ(info->kernels[1].alignment, 64u);
  EXPECT_FALSE(info->kernels[0].control);
  EXPECT_FALSE(info->kernels[0].limits);
}

TEST_F(RunFaults, HonestCallsInEveryLayoutAndPoison) {
  const std::vector<Strided> layouts = {{{12, 4, 1}, 0}, {{}, 7},          {{20, 6, 1}, 3}, {{1, 2, 6}, 0},
                                        {{4, 8, 1}, 1},  {{50, 16, 3}, 2}, {{12, 4, 1}, 1}};
  for (const DLDataType dtype : {f32, DLDataType{kDLFloat, 16, 1}, DLDataType{kDLBfloat, 16, 1},
                                 DLDataType{kDLFloat8_e4m3fn, 8, 1}, DLDataType{kDLInt, 64, 1}}) {
    const Bytes data = counted(24 * dtype.bits / 8);
    for (const Strided& x : layouts) {
      for (const Strided& y : layouts) {
        Call call = copy_call("copy.plain", {2, 3, 4}, dtype, data, x, y);
        for (const Poison poison : poisons) {
          call.poison = poison;
          const Outcome outcome = executor.execute(call);
          ASSERT_EQ(outcome.kind, Kind::ran) << outcome.message;
          EXPECT_EQ(outcome.status, NBX_OK);
          EXPECT_THAT(outcome.outputs, ElementsAre(data));
          EXPECT_THAT(outcome.faults, IsEmpty());
          EXPECT_FALSE(outcome.wrote_nothing);
          EXPECT_GT(outcome.seconds, 0);
        }
      }
    }
  }
  EXPECT_EQ(executor.restarts(), 0);
}

TEST_F(RunFaults, EmptyTensorsAndScalars) {
  EXPECT_THAT(executor.execute(copy_call("copy.plain", {0, 4}, f32, {})).outputs, ElementsAre(Bytes{}));
  EXPECT_THAT(executor.execute(copy_call("copy.plain", {}, f32, counted(4))).outputs, ElementsAre(counted(4)));
}

TEST_F(RunFaults, ABroadcastReadsOneRowManyTimes) {
  Bytes rows;
  for (int row = 0; row < 3; ++row) {
    for (const std::byte byte : counted(20)) rows.push_back(byte);
  }
  const Outcome outcome = executor.execute(copy_call("copy.plain", {3, 5}, f32, rows, {{0, 1}}));
  EXPECT_THAT(outcome.outputs, ElementsAre(rows));
  EXPECT_THAT(outcome.faults, IsEmpty());
  EXPECT_THROW(executor.execute(small_call("copy.plain", {{0, 1}})), std::runtime_error) << "rows differ";
  expect_recovery();
}

TEST_F(RunFaults, SpansBeyondMemoryAreSparse) {
  const std::int64_t stride = (std::int64_t{1} << 36) + 3;  // elements: a span of half a TiB each
  const Outcome outcome = executor.execute(small_call("copy.plain", {{stride, 1}}, {{stride, 1}, 5}));
  EXPECT_EQ(outcome.kind, Kind::ran) << outcome.message;
  EXPECT_THAT(outcome.outputs, ElementsAre(counted(60)));
  EXPECT_THAT(outcome.faults, IsEmpty());
}

TEST_F(RunFaults, SparseSpansSeeWritesNextToTheirRows) {
  const std::int64_t stride = std::int64_t{1} << 27;
  const Outcome outcome = executor.execute(small_call("copy.write_gap", {}, {{stride, 1}}));
  EXPECT_THAT(outcome.faults, ElementsAre(IsFault(Fault::gap, "y", 20, 1)));
}

TEST_F(RunFaults, InOutTensorsKeepWhatIsNotWritten) {
  Call call = small_call("copy.leave_unwritten", {}, {{7, 1}});
  call.tensors[1].role = NBX_INOUT;
  call.tensors[1].data = std::make_shared<const Bytes>(Bytes(60, std::byte{9}));
  const Outcome outcome = executor.execute(call);
  Bytes expected = counted(60);
  std::fill(expected.end() - 4, expected.end(), std::byte{9});
  EXPECT_THAT(outcome.outputs, ElementsAre(expected));
  EXPECT_FALSE(outcome.wrote_nothing);
  call.kernel = "copy.refuse";
  EXPECT_TRUE(executor.execute(call).wrote_nothing);
  call.kernel = "copy.refuse_after_write";
  EXPECT_FALSE(executor.execute(call).wrote_nothing);
}

TEST_F(RunFaults, ArithmeticAndCanRunNeedNoData) {
  Call call = small_call("copy.plain");
  call.tensors[0].data = nullptr;
  std::string message;
  const auto arithmetic = executor.arithmetic(call, &message);
  ASSERT_TRUE(arithmetic) << message;
  EXPECT_EQ(arithmetic->sum_depth, 17);
  EXPECT_EQ(executor.can_run(call).kind, Kind::ran);
  EXPECT_THROW(executor.execute(call), std::invalid_argument);
}

TEST_F(RunFaults, LargeAndSmallCallsTakeTurns) {
  for (const std::int64_t rows : {3, 400'000, 7, 2'000'000, 5}) {
    const Bytes data = counted(rows * 4);
    const Outcome outcome = executor.execute(copy_call("copy.plain", {rows}, f32, data));
    ASSERT_EQ(outcome.kind, Kind::ran) << outcome.message;
    EXPECT_TRUE(outcome.outputs.at(0) == data);
    EXPECT_THAT(outcome.faults, IsEmpty());
  }
  EXPECT_EQ(executor.restarts(), 0);
}

TEST_F(RunFaults, RefusalsSayWhereTheyComeFrom) {
  const Outcome declined = executor.execute(small_call("copy.decline"));
  EXPECT_EQ(declined.kind, Kind::refused);
  EXPECT_EQ(declined.status, NBX_UNSUPPORTED);
  EXPECT_EQ(declined.stage, "can_run");
  EXPECT_EQ(declined.message, "only on Tuesdays");
  EXPECT_TRUE(declined.wrote_nothing);
  const Outcome checked = executor.execute(small_call("copy.refuse_in_check"));
  EXPECT_EQ(checked.kind, Kind::refused);
  EXPECT_EQ(checked.stage, "check");
  EXPECT_TRUE(checked.wrote_nothing);
  const Outcome wrote = executor.execute(small_call("copy.refuse_after_write"));
  EXPECT_EQ(wrote.kind, Kind::refused);
  EXPECT_EQ(wrote.status, NBX_INVALID);
  EXPECT_EQ(wrote.stage, "run");
  EXPECT_EQ(wrote.message, "x is too long");
  EXPECT_FALSE(wrote.wrote_nothing);
}

TEST_F(RunFaults, CheckAndRunAreAskedEachByItself) {
  EXPECT_EQ(executor.check_only(small_call("copy.refuse_in_check")).stage, "check");
  EXPECT_EQ(executor.check_only(small_call("copy.refuse")).kind, Kind::ran);
  EXPECT_TRUE(executor.check_only(small_call("copy.plain")).wrote_nothing);
  const Outcome ran = executor.run_unchecked(small_call("copy.refuse_in_check"));
  EXPECT_EQ(ran.kind, Kind::ran);
  EXPECT_FALSE(ran.wrote_nothing);
  EXPECT_EQ(executor.run_unchecked(small_call("copy.refuse")).stage, "run");
  EXPECT_EQ(executor.run_unchecked(small_call("copy.decline")).kind, Kind::ran);
  EXPECT_EQ(executor.execute(small_call("copy.refuse_workspace")).stage, "workspace_bytes");
  EXPECT_EQ(executor.run_unchecked(small_call("copy.refuse_workspace")).stage, "run");
}

TEST_F(RunFaults, MessagesAndStatusesAreHeldToTheInterface) {
  EXPECT_EQ(executor.execute(small_call("copy.unknown_status")).message, "status 77 is none of the interface's");
  EXPECT_EQ(executor.execute(small_call("copy.unknown_status")).kind, Kind::broken);
  EXPECT_EQ(executor.execute(small_call("copy.endless_message")).kind, Kind::broken);
  EXPECT_EQ(executor.execute(small_call("copy.garbled_message")).message, "x is \uFFFD\uFFFD");
  EXPECT_EQ(executor.execute(small_call("copy.overlong_message")).kind, Kind::crashed);
  const Outcome unknown = executor.execute(small_call("copy.nowhere"));
  EXPECT_EQ(unknown.kind, Kind::broken);
  EXPECT_THAT(unknown.message, HasSubstr("has no kernel copy.nowhere"));
  expect_recovery();
}

TEST_F(RunFaults, WhatAPackPrintsStaysOutOfStandardOutput) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  executor.execute(small_call("copy.print"));
  const std::string out = testing::internal::GetCapturedStdout(), err = testing::internal::GetCapturedStderr();
  EXPECT_EQ(out, "");
  EXPECT_THAT(err, HasSubstr("printed by a pack"));
}

TEST_F(RunFaults, TheCostOfASmallCall) {
  const Call call = small_call("copy.plain", {}, {{8, 1}});
  executor.execute(call);
  constexpr int calls = 500;
  const auto before = std::chrono::steady_clock::now();
  for (int i = 0; i < calls; ++i) ASSERT_EQ(executor.execute(call).kind, Kind::ran);
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - before;
  fmt::print("{:.1f} us per call\n", took.count() / calls);
}

}  // namespace
}  // namespace nbx::contracts
