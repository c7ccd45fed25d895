// nbx-contract probe, with packs in the place of a device.
#include <gmock/gmock.h>

#include <filesystem>

#include "process.hpp"

namespace nbx::reports {
namespace {

using testing::HasSubstr;
using testing::Not;

Ended probe(const std::string& pack, const std::vector<std::string>& environment = {}) {
  return call({NBX_COMMAND, "probe", "--tiles", "500", "--device-pack", pack}, environment);
}

const std::string models = (std::filesystem::path(NBX_COMMAND).parent_path() / "packs" / "units.so").string();

TEST(Probe, TellsNothingOfUnitsThatAreAsModelled) {
  const Ended ended = probe(models);
  EXPECT_EQ(ended.code, 0) << ended.out << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("m16n8k16.mma.bf16         64,000 elements, 0 deviations"));
  EXPECT_THAT(ended.out, HasSubstr("m64n8k32.wgmma.e4m3 x 4   64,000 elements, 0 deviations"));
  EXPECT_THAT(ended.out, Not(HasSubstr(" d ")));
  EXPECT_THAT(ended.out, Not(HasSubstr("not there")));
}

TEST(Probe, TakesTheModelsOfTheDevicesArchitecture) {
  const Ended ended = probe(models, {"NBX_IMITATES=sm_90"});
  EXPECT_THAT(ended.out, HasSubstr("sm_90"));
  EXPECT_EQ(ended.code, 0) << ended.out << ended.err;
  const Ended unknown = probe(models, {"NBX_IMITATES=sm_1"});
  EXPECT_EQ(unknown.code, 4);
  EXPECT_THAT(unknown.err, HasSubstr("NBX_IMITATES: sm_1; accepted: sm_70"));
}

TEST(Probe, PrintsADeviationAsALineOfTestData) {
  const Ended ended = probe(std::string(NBX_TEST_PACKS) + "/units_wrong.so");
  EXPECT_EQ(ended.code, 1) << ended.out << ended.err;
  for (const char* unit : {"m16n8k16.mma.f16", "m64n8k16.wgmma.f16", "m64n8k32.wgmma.e4m3"}) {
    EXPECT_THAT(ended.out, HasSubstr(std::string("\n") + unit + " sm_90 a "));
  }
  for (const char* unit : {"m16n8k16.mma.bf16   ", "m64n8k16.wgmma.bf16 ", "m64n8k8.wgmma.tf32  "}) {
    EXPECT_THAT(ended.out, HasSubstr(std::string(unit) + "      64,000 elements, 0 deviations"));
  }
}

TEST(Probe, SaysWhichUnitsADeviceHasNot) {
  const Ended ended = probe(models, {"NBX_IMITATES=sm_80"});
  EXPECT_EQ(ended.code, 0) << ended.out << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("m64n8k16.wgmma.f16        not there: imitated architecture: sm_80"));
  EXPECT_THAT(ended.out, HasSubstr("m16n8k32.mma.e4m3 x 4     not there"));
  EXPECT_THAT(ended.out, HasSubstr("m16n8k16.mma.f16          64,000 elements, 0 deviations"));
}

TEST(Probe, ChecksNothingWithoutADevice) {
  const Ended ended = probe("/nonexistent/units.so");
  EXPECT_EQ(ended.code, 4);
  EXPECT_THAT(ended.err, HasSubstr("nothing was probed"));
}

}  // namespace
}  // namespace nbx::reports
