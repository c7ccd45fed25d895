// Packs that cannot be used, a pack with a device of its own, and the pack of a user.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>

#include "tests/contracts/run_faults.hpp"

namespace nbx::contracts {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using Kind = Outcome::Kind;
using Fault = MemoryFault::Kind;

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

/// With more time where a busy machine did not even start the child in it.
std::string reason_of_hang(const std::filesystem::path& pack) {
  std::string reason;
  for (const int timeout_ms : {300, 1'500, 10'000}) {
    reason = reason_of(pack, timeout_ms);
    EXPECT_THAT(reason, HasSubstr(fmt::format("no answer after {} ms in ", timeout_ms)));
    if (reason.find("in start") == std::string::npos) break;
  }
  return reason;
}

TEST(UnusablePack, SaysWhy) {
  EXPECT_EQ(reason_of(test_pack("other_interface")), "the pack speaks interface 2, this harness 1");
  EXPECT_EQ(reason_of(test_pack("no_symbol")), "not a pack: it has no symbol nbx_pack_open");
  EXPECT_EQ(reason_of(test_pack("crashes_on_load")), "SIGABRT in load");
  EXPECT_THAT(reason_of_hang(test_pack("hangs_on_load")), EndsWith(" ms in load"));
  EXPECT_THAT(reason_of_hang(test_pack("hangs_on_open")), EndsWith(" ms in nbx_pack_open"));
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
  EXPECT_EQ(arithmetic->sum_depth, 4);  // three columns of one block, and the block
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
