#include "contracts/pattern.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nbx::contracts {
namespace {

TEST(Pattern, GlobsWholeNames) {
  EXPECT_TRUE(glob("math.*.f32", "math.simt.f32"));
  EXPECT_TRUE(glob("*", ""));
  EXPECT_TRUE(glob("a*b*c", "a__b__b__c"));
  EXPECT_TRUE(glob("gate?.grid", "gate3.grid"));
  EXPECT_FALSE(glob("math.*.f32", "math.simt.f16"));
  EXPECT_FALSE(glob("math", "math.simt"));
  EXPECT_FALSE(glob("", "a"));
}

TEST(Pattern, SelectsByTheFirstPartsOfADottedName) {
  EXPECT_TRUE(selects("softmax", "softmax.tile.f32"));
  EXPECT_TRUE(selects("gate3", "gate3.grid"));
  EXPECT_FALSE(selects("soft", "softmax.tile.f32"));
  EXPECT_FALSE(selects("softmax", "log_softmax.tile.f32"));
}

TEST(Pattern, ACaseIsSelectedByKernelClauseOrWholeName) {
  const auto selected = [](const char* pattern) {
    return selects_case({pattern}, "math.simt.f32", "gate3.rows", "B=1,H=2,normal");
  };
  EXPECT_TRUE(selected("math"));
  EXPECT_TRUE(selected("gate3"));
  EXPECT_TRUE(selected("math.simt.f32/gate3.rows(B=1,H=2,normal)"));
  EXPECT_TRUE(selected("math.simt.f32/gate3.rows"));
  EXPECT_TRUE(selected("*/gate3.*(*H=2*)"));
  EXPECT_FALSE(selected("math.simt.f32/gate2.*"));
  EXPECT_FALSE(selected("math.simt.f32/gate3.rows(B=1)"));
  EXPECT_TRUE(selects_case({}, "a", "b", "c")) << "no pattern selects all";
  EXPECT_FALSE(selects_case({"flash", "gate1"}, "math.simt.f32", "gate3.rows", "p"));
}

TEST(Pattern, NearestNamesComeFirst) {
  const std::vector<std::string> names{"log_softmax.tile.f32", "math.simt.f32", "softmax.tile.f32", "gate1.reference"};
  EXPECT_EQ(nearest_names("sofmax", names).front(), "softmax.tile.f32");
  EXPECT_EQ(nearest_names("math.smt.f32", names).front(), "math.simt.f32");
  EXPECT_EQ(nearest_names("gate1.refrence", names).front(), "gate1.reference");
  EXPECT_THAT(nearest_names("x", names, 2), testing::SizeIs(2));
}

}  // namespace
}  // namespace nbx::contracts
