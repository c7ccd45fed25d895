// Children that hold packs: what comes back from honest kernels, from wrong ones, and from packs that cannot be used.
#include "contracts/executor.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <fstream>
#include <limits>
#include <set>
#include <stdexcept>
#include <thread>

#include "tests/contracts/calls.hpp"

namespace nbx::contracts {

void PrintTo(Outcome::Kind kind, std::ostream* out) {
  *out << (kind == Outcome::Kind::ran         ? "ran"
           : kind == Outcome::Kind::refused   ? "refused"
           : kind == Outcome::Kind::crashed   ? "crashed"
           : kind == Outcome::Kind::timed_out ? "timed_out"
                                              : "broken");
}

namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Kind = Outcome::Kind;
using Fault = MemoryFault::Kind;

constexpr Poison poisons[] = {Poison::ones, Poison::zeros, Poison::nan, Poison::large, Poison::larger};

MATCHER_P4(IsFault, kind, tensor, offset, bytes, "") {
  *result_listener << fmt::format("kind {}, {} bytes at {} + {}", static_cast<int>(arg.kind), arg.bytes, arg.tensor,
                                  arg.offset);
  return arg.kind == kind && arg.tensor == tensor && arg.offset == offset && arg.bytes == bytes;
}

std::string text(const Bytes& bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

class RunFaults : public testing::Test {
 protected:
  Executor executor{test_pack("run_faults"), test_options()};

  /// An honest call right after: the executor has recovered.
  void expect_recovery() {
    const Outcome outcome = executor.execute(small_call("copy.plain"));
    EXPECT_EQ(outcome.kind, Kind::ran) << outcome.message;
    EXPECT_THAT(outcome.outputs, ElementsAre(counted(60)));
  }
};

// Honest calls

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
  const auto before = std::chrono::steady_clock::now();
  const Outcome outcome = executor.execute(small_call("copy.plain", {{stride, 1}}, {{stride, 1}, 5}));
  EXPECT_EQ(outcome.kind, Kind::ran) << outcome.message;
  EXPECT_THAT(outcome.outputs, ElementsAre(counted(60)));
  EXPECT_THAT(outcome.faults, IsEmpty());
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(5)) << "all of the span was touched";
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

// Memory

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

// Refusals

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

// Crashes and hangs

TEST_F(RunFaults, CrashesAreToldApart) {
  const std::pair<const char*, const char*> expected[] = {
      {"copy.crash", "SIGSEGV in run: write at address 0x1000"},
      {"copy.abort", "SIGABRT in run"},
      {"copy.killed", "ended by SIGKILL in run"},
      {"copy.exits", "the process ended in run with exit code 7"},
      {"copy.read_early", "SIGSEGV in can_run: read of x, at its start + 0 bytes"}};
  int crashes = 0;
  for (const auto& [kernel, message] : expected) {
    const Outcome outcome = executor.execute(small_call(kernel));
    EXPECT_EQ(outcome.kind, Kind::crashed);
    EXPECT_EQ(outcome.message, message);
    expect_recovery();
    EXPECT_EQ(executor.restarts(), ++crashes);
  }
}

TEST_F(RunFaults, ACrashBetweenCallsIsToldByTheNext) {
  EXPECT_EQ(executor.execute(small_call("copy.crash_later")).kind, Kind::ran);
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  const Outcome outcome = executor.execute(small_call("copy.plain"));
  EXPECT_EQ(outcome.kind, Kind::crashed);
  EXPECT_EQ(outcome.message, "between calls, after one of copy.crash_later: SIGABRT in the harness");
  expect_recovery();
}

TEST_F(RunFaults, ExceptionsThatEscapeBreakTheInterface) {
  const Outcome outcome = executor.execute(small_call("copy.throws"));
  EXPECT_EQ(outcome.kind, Kind::broken);
  EXPECT_EQ(outcome.stage, "run");
  EXPECT_EQ(outcome.message, "an exception escaped: no tile fits");
  EXPECT_EQ(executor.execute(small_call("copy.throws_number")).message, "an exception of unknown type escaped");
  expect_recovery();
  EXPECT_EQ(executor.restarts(), 0);
}

TEST(Executor, AHangEndsAfterTheTimeLimit) {
  Executor executor(test_pack("run_faults"), test_options(300));
  ASSERT_EQ(executor.execute(small_call("copy.plain")).kind, Kind::ran);
  const auto before = std::chrono::steady_clock::now();
  const Outcome outcome = executor.execute(small_call("copy.hang"));
  const auto took = std::chrono::steady_clock::now() - before;
  EXPECT_EQ(outcome.kind, Kind::timed_out);
  EXPECT_EQ(outcome.stage, "run");
  EXPECT_EQ(outcome.message, "no answer after 300 ms in run");
  EXPECT_GE(took, std::chrono::milliseconds(300));
  EXPECT_LT(took, std::chrono::seconds(5));
  EXPECT_EQ(executor.execute(small_call("copy.plain")).kind, Kind::ran);
  EXPECT_EQ(executor.restarts(), 1);
}

TEST(Executor, EndingAllChildrenEndsACallAndTheNextOneStartsAgain) {
  Executor executor(test_pack("run_faults"), test_options());
  ASSERT_EQ(executor.execute(small_call("copy.plain")).kind, Kind::ran);
  std::thread interrupt([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    end_all_children();
  });
  const Outcome outcome = executor.execute(small_call("copy.hang"));
  interrupt.join();
  EXPECT_EQ(outcome.kind, Kind::crashed);
  EXPECT_EQ(outcome.message, "ended by SIGKILL in run");
  EXPECT_EQ(executor.execute(small_call("copy.plain")).kind, Kind::ran);
}

TEST(Executor, AChildLostBetweenCallsIsNoFaultOfTheNext) {
  Executor executor(test_pack("run_faults"), test_options());
  ASSERT_EQ(executor.execute(small_call("copy.plain")).kind, Kind::ran);
  end_all_children();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_EQ(executor.execute(small_call("copy.plain")).kind, Kind::ran);
  EXPECT_EQ(executor.restarts(), 1);
}

TEST(Executor, AChildOutlivesTheThreadThatStartedIt) {
  Executor executor(test_pack("run_faults"), test_options());
  std::thread([&] { executor.execute(small_call("copy.plain")); }).join();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(executor.execute(small_call("copy.plain")).kind, Kind::ran);
  EXPECT_EQ(executor.restarts(), 0);
}

TEST(Executor, ManyAtOnce) {
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      Executor executor(test_pack("run_faults"), test_options());
      for (int call = 0; call < 20; ++call) {
        right += executor.execute(small_call(call == 10 ? "copy.abort" : "copy.plain")).kind == Kind::ran;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 4 * 19);
}

std::vector<pid_t> children_of(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/task/{}/children", pid, pid));
  std::vector<pid_t> children;
  for (pid_t child; file >> child;) children.push_back(child);
  return children;
}

TEST(Executor, AHangingChildDiesWithItsParent) {
  std::string words[] = {NBX_TEST_WORKER, "hold", test_pack("run_faults").string(), "copy.hang"};
  char* arguments[] = {words[0].data(), words[1].data(), words[2].data(), words[3].data(), nullptr};
  pid_t parent = 0;
  ASSERT_EQ(posix_spawn(&parent, words[0].c_str(), nullptr, nullptr, arguments, environ), 0);
  std::vector<pid_t> children;
  for (int wait = 0; wait < 100 && children.empty(); ++wait) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    children = children_of(parent);
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(200));  // into the hang
  kill(parent, SIGKILL);
  waitpid(parent, nullptr, 0);
  ASSERT_EQ(children.size(), 1u);
  bool gone = false;
  for (int wait = 0; wait < 100 && !gone; ++wait) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    std::ifstream status(fmt::format("/proc/{}/stat", children[0]));
    std::string pid, name, state;
    status >> pid >> name >> state;
    gone = !status || state == "Z" || state == "X";
  }
  EXPECT_TRUE(gone);
  if (!gone) kill(children[0], SIGKILL);
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
  constexpr int calls = 2000;
  const auto before = std::chrono::steady_clock::now();
  for (int i = 0; i < calls; ++i) ASSERT_EQ(executor.execute(call).kind, Kind::ran);
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - before;
  fmt::print("{:.1f} us per call\n", took.count() / calls);
}

// Packs that cannot be used

std::string reason_of(const std::filesystem::path& pack, int timeout_ms = 20'000) {
  Executor executor(pack, test_options(timeout_ms));
  PackError error;
  if (executor.open(&error)) return "it opened";
  EXPECT_EQ(error.file, pack);
  const Outcome outcome = executor.execute(small_call("copy.plain"));
  EXPECT_EQ(outcome.kind, Kind::broken);
  EXPECT_EQ(outcome.message, "the pack does not load: " + error.reason);
  return error.reason;
}

TEST(UnusablePack, SaysWhy) {
  EXPECT_EQ(reason_of(test_pack("other_interface")), "the pack speaks interface 2, this harness 1");
  EXPECT_EQ(reason_of(test_pack("no_symbol")), "not a pack: it has no symbol nbx_pack_open");
  EXPECT_EQ(reason_of(test_pack("crashes_on_load")), "SIGABRT in load");
  EXPECT_EQ(reason_of(test_pack("hangs_on_load"), 300), "no answer after 300 ms in load");
  EXPECT_EQ(reason_of(test_pack("hangs_on_open"), 300), "no answer after 300 ms in nbx_pack_open");
  EXPECT_EQ(reason_of(test_pack("throws_on_open")), "an exception escaped from nbx_pack_open: no licence");
  EXPECT_EQ(reason_of(test_pack("declines")), "the pack declines: no device is fast enough");
  EXPECT_EQ(reason_of(test_pack("null_entry")), "copy.other: its entry point check is NULL");
  EXPECT_THAT(reason_of(test_pack("small_pack")), HasSubstr("the pack has struct_size 40; interface 1 has at least"));
  EXPECT_THAT(reason_of(test_pack("small_kernel")), HasSubstr("kernel 1 of the pack has struct_size 16;"));
  EXPECT_EQ(reason_of(test_pack("no_kernels")), "the pack has no kernels");
  EXPECT_EQ(reason_of(test_pack("null_kernels")), "the pack's list of kernels is NULL and has 2 entries");
  EXPECT_EQ(reason_of(test_pack("same_name")), "two kernels of the pack are named copy.plain");
  EXPECT_THAT(reason_of(test_pack("odd_alignment")), HasSubstr("its alignment 3 is not a power of two"));
  EXPECT_THAT(reason_of(test_pack("half_a_memory")), HasSubstr("gives 1 of the 5 functions"));
  EXPECT_EQ(reason_of(test_pack("wild_name")), "SIGSEGV in the pack's table: read at address 0x8");
  EXPECT_THAT(reason_of(test_pack("does_not_exist")), HasSubstr("not a loadable library"));
  EXPECT_THAT(reason_of(NBX_TEST_WORKER), HasSubstr("not a loadable library"));
  const std::filesystem::path text = std::filesystem::path(testing::TempDir()) / "not_a_pack.so";
  std::ofstream(text) << "not ELF";
  EXPECT_THAT(reason_of(text), HasSubstr("not a loadable library"));
}

TEST(Executor, AWorkerThatIsNoneIsAnErrorOfTheHarness) {
  Executor executor(test_pack("run_faults"), {std::chrono::seconds(5), "/nonexistent/worker"});
  EXPECT_THROW(executor.open(nullptr), std::runtime_error);
}

// A device of its own

TEST(DevicePack, TensorsLiveInTheDevicesMemory) {
  Executor executor(test_pack("device_copy"), test_options());
  PackError error;
  const auto info = executor.open(&error);
  ASSERT_TRUE(info) << error.reason;
  EXPECT_FALSE(info->can_guard);
  for (const Strided& layout : {Strided{{}, 0}, Strided{{9, 1}, 3}, Strided{{1, 3}, 0}}) {
    const Outcome outcome = executor.execute(small_call("device.plain", layout, layout));
    EXPECT_EQ(outcome.kind, Kind::ran) << outcome.message;
    EXPECT_THAT(outcome.outputs, ElementsAre(counted(60)));
    EXPECT_THAT(outcome.faults, IsEmpty());
  }
}

TEST(DevicePack, ZonesOnBothSidesAreChecked) {
  Executor executor(test_pack("device_copy"), test_options());
  EXPECT_THAT(executor.execute(small_call("device.outside")).faults,
              ElementsAre(IsFault(Fault::guard_before, "y", -4096, 1), IsFault(Fault::guard_after, "y", 60 + 4095, 1)));
}

TEST(DevicePack, GuardedDataEndWithTheirAllocation) {
  Executor executor(test_pack("device_copy_guarded"), test_options());
  const auto info = executor.open(nullptr);
  ASSERT_TRUE(info);
  EXPECT_TRUE(info->can_guard);
  const Outcome honest = executor.execute(small_call("device.plain", {{9, 1}, 3}));
  EXPECT_THAT(honest.outputs, ElementsAre(counted(60)));
  EXPECT_THAT(honest.faults, IsEmpty());
  const Outcome outcome = executor.execute(small_call("device.outside"));
  EXPECT_EQ(outcome.kind, Kind::crashed);
  EXPECT_THAT(outcome.message, HasSubstr("SIGSEGV in run: write at address"));
}

TEST(DevicePack, ADeviceThatFailsIsLeftForAFreshOne) {
  Executor executor(test_pack("device_copy"), test_options());
  const Outcome outcome = executor.execute(small_call("device.fails"));
  EXPECT_EQ(outcome.kind, Kind::crashed);
  EXPECT_EQ(outcome.stage, "synchronise");
  EXPECT_EQ(outcome.message, "an illegal address was met");
  EXPECT_EQ(executor.execute(small_call("device.plain")).kind, Kind::ran);
  EXPECT_EQ(executor.restarts(), 1);
}

// The user's softmax

Call softmax_call(const Bytes& x, std::int64_t rows, std::int64_t columns) {
  Call call = copy_call("user_softmax.plain.f32", {rows, columns}, f32, x);
  call.family = "softmax";
  call.params = {int_param("axis", -1)};
  return call;
}

/// The sum of a row of the softmax of 0, 1, 2, 3.
double sum_of_row(const std::string& pack) {
  const float x[] = {0, 1, 2, 3};
  Bytes data(sizeof x);
  std::memcpy(data.data(), x, sizeof x);
  Executor executor(test_pack(pack), test_options());
  const Outcome outcome = executor.execute(softmax_call(data, 1, 4));
  EXPECT_EQ(outcome.kind, Kind::ran) << outcome.message;
  if (outcome.outputs.empty()) return std::numeric_limits<double>::quiet_NaN();
  float y[4];
  std::memcpy(y, outcome.outputs[0].data(), sizeof y);
  return double{y[0]} + y[1] + y[2] + y[3];
}

TEST(UserSoftmax, SumsToOneAndItsPlantedFaultDoesNot) {
  EXPECT_NEAR(sum_of_row("user_softmax"), 1, 1e-6);
  // e^0 … e^3 over e^0 + e^1 + e^2.
  EXPECT_NEAR(sum_of_row("user_softmax_wrong"), 1 + std::exp(3) / (1 + std::exp(1) + std::exp(2)), 1e-6);
}

TEST(UserSoftmax, RefusesByNameAndDeclaresItsArithmetic) {
  Executor executor(test_pack("user_softmax"), test_options());
  Call call = softmax_call(counted(24), 2, 3);
  std::string message;
  const auto arithmetic = executor.arithmetic(call, &message);
  ASSERT_TRUE(arithmetic) << message;
  EXPECT_EQ(arithmetic->sum_depth, 3);
  EXPECT_EQ(arithmetic->exp_ulp, 1);
  call.params = {int_param("axis", 2)};
  for (const Outcome& outcome : {executor.execute(call), executor.check_only(call), executor.run_unchecked(call)}) {
    EXPECT_EQ(outcome.kind, Kind::refused);
    EXPECT_EQ(outcome.message, "axis is 2; accepted: -rank to rank - 1");
    EXPECT_TRUE(outcome.wrote_nothing);
  }
}

}  // namespace
}  // namespace nbx::contracts
