// flash: the choice of tiles by its table, bits that no tile shows in, and the values beside math's. What the values
// must be is the contract's to judge.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "kernels/flash/tiles.hpp"
#include "tests/kernels/pack_call.hpp"

namespace nbx::test {
namespace {

using flash::choose_height;
using testing::HasSubstr;

constexpr std::uint64_t plenty = std::uint64_t{1} << 40;
const auto no_bytes = [](int) { return std::uint64_t{0}; };
const auto kilobytes = [](int height) { return static_cast<std::uint64_t>(height) * 1024; };

flash::HeightLimits limits(int ceiling = 0, std::uint64_t most = plenty, bool bf16_is_native = true) {
  return {ceiling, 0, {0, most, bf16_is_native}};
}

TEST(FlashTiles, KeyWidthIsAFunctionOfTheHeadDimAlone) {
  struct Row {
    std::int64_t D;
    int width;
  };
  for (const auto& [D, width] :
       {Row{1, 64}, Row{16, 64}, Row{17, 64}, Row{72, 64}, Row{96, 64}, Row{127, 64}, Row{128, 64}, Row{129, 32},
        Row{192, 32}, Row{255, 32}, Row{256, 32}, Row{257, 16}, Row{512, 16}, Row{1000, 16}}) {
    EXPECT_EQ(flash::key_width(D), width) << D;
  }
}

TEST(FlashTiles, HeightsAreThoseOfTheTable) {
  struct Row {
    std::int64_t D, Tq;
    int native, other;
  };
  for (const auto& row : {Row{64, 1, 16, 16}, Row{64, 16, 16, 16}, Row{64, 17, 128, 64}, Row{1, 1000, 128, 64},
                          Row{72, 1000, 64, 64}, Row{128, 17, 64, 64}, Row{129, 1000, 32, 32}, Row{256, 17, 32, 32},
                          Row{257, 1000, 16, 16}, Row{512, 1000, 16, 16}, Row{512, 3, 16, 16}}) {
    EXPECT_EQ(choose_height(row.D, row.Tq, limits(), no_bytes).height, row.native) << row.D << " " << row.Tq;
    EXPECT_EQ(choose_height(row.D, row.Tq, limits(0, plenty, false), no_bytes).height, row.other) << row.D;
  }
}

TEST(FlashTiles, ACeilingLowersTheHeightAndTheFloorHoldsLast) {
  EXPECT_EQ(choose_height(64, 100, limits(32), no_bytes).height, 32);
  EXPECT_EQ(choose_height(64, 100, limits(256), no_bytes).height, 128) << "a ceiling raises nothing";
  const flash::HeightChoice low = choose_height(64, 100, limits(8), no_bytes);
  EXPECT_EQ(low.height, 16);
  EXPECT_THAT(low.reason, HasSubstr("ceiling 8, which lies below the floor 16"));
  EXPECT_EQ(low.reason.find("below the floor"), low.reason.rfind("below the floor")) << "said once";
}

TEST(FlashTiles, SharedMemoryHalvesTheHeightToTheFloorAndThenDeclines) {
  EXPECT_EQ(choose_height(64, 100, limits(0, 128 * 1024), kilobytes).height, 128) << "the limit itself fits";
  const flash::HeightChoice half = choose_height(64, 100, limits(0, 128 * 1024 - 1), kilobytes);
  EXPECT_EQ(half.height, 64);
  EXPECT_EQ(half.bytes, 64U * 1024);
  EXPECT_THAT(half.reason, HasSubstr("halved to 64"));
  EXPECT_EQ(choose_height(64, 100, limits(0, 16 * 1024), kilobytes).height, 16);
  EXPECT_EQ(choose_height(64, 100, limits(48, 47 * 1024), kilobytes).height, 24);
  EXPECT_EQ(choose_height(64, 100, limits(24, 23 * 1024), kilobytes).height, 16) << "not below the floor";
  const flash::HeightChoice none = choose_height(64, 100, limits(0, 16 * 1024 - 1), kilobytes);
  EXPECT_EQ(none.height, 0);
  EXPECT_EQ(none.bytes, 16U * 1024);
}

TEST(FlashTiles, TheCompiledKernelsOwnSharedMemoryCounts) {
  flash::HeightLimits tight = limits(0, 128 * 1024);
  tight.block.static_bytes = 1;
  EXPECT_EQ(choose_height(64, 100, tight, kilobytes).height, 64);
}

TEST(Flash, ATooWideHeadDimIsDeclinedWithBytesAndLimit) {
  PackCall call = attention_call("flash.simt.f16", {.Tq = 3, .Tk = 5, .D = 3000, .Dv = 16});
  EXPECT_EQ(call.can_run(), NBX_UNSUPPORTED);
  EXPECT_THAT(call.message, HasSubstr("q: head dims 3000 and 16"));
  EXPECT_THAT(call.message, HasSubstr("at most 232448"));
}

TEST(Flash, AFixedHeightThatDoesNotFitIsDeclinedAndNotLowered) {
  PackCall call = attention_call("flash.simt.f32", {.Tq = 3, .Tk = 5, .D = 512, .Dv = 512});
  call.option("block_rows", 128);
  EXPECT_EQ(call.run(), NBX_UNSUPPORTED);
  EXPECT_THAT(call.message, HasSubstr("block_rows: 128"));
  call.option("block_rows", 16);
  EXPECT_EQ(call.run(), NBX_OK) << call.message;
}

TEST(Flash, OptionsOutsideTheirRangeAreRefused) {
  PackCall call = attention_call("flash.simt.bf16", {.Tq = 3, .Tk = 5});
  for (const auto& [name, value] : {std::pair{"block_rows", 8}, {"block_rows", 129}, {"detour", 2}, {"ceiling", 0}}) {
    call.option(name, value);
    EXPECT_EQ(call.run(), NBX_INVALID) << name;
    EXPECT_THAT(call.message, HasSubstr(std::string(name) + ": " + std::to_string(value)));
  }
}

TEST(Flash, ACeilingAndADetourChangeNoBit) {
  for (const std::int64_t D : {1, 64, 128, 256}) {
    PackCall call = attention_call("flash.simt.f32", {.H = 2, .Hk = 1, .Tq = 40, .Tk = 130, .D = D, .Dv = 24});
    ASSERT_EQ(call.run(), NBX_OK) << call.message;
    const auto o = call["o"].all_bits(), lse = call["lse"].all_bits();
    for (const auto& [name, value] : {std::pair{"ceiling", 8}, {"ceiling", 32}, {"detour", 1}}) {
      call.option(name, value);
      ASSERT_EQ(call.run(), NBX_OK) << call.message;
      EXPECT_EQ(call["o"].all_bits(), o) << name << " " << D;
      EXPECT_EQ(call["lse"].all_bits(), lse) << name << " " << D;
    }
  }
}

TEST(Flash, BitsDependOnNoOrder) {
  PackCall call = attention_call("flash.simt.bf16", {.B = 2, .H = 2, .Hk = 1, .Tq = 37, .Tk = 131, .D = 72, .Dv = 40});
  call.text("causal", "bottom_right");
  ASSERT_EQ(call.run(), NBX_OK) << call.message;
  const auto o = call["o"].all_bits();
  for (const Condition& condition : conditions) {
    call.launch.block_order = condition.blocks;
    call.launch.item_order = condition.items;
    call.launch.threads = condition.threads;
    call.launch.order_seed = 7;
    ASSERT_EQ(call.run(), NBX_OK) << call.message;
    EXPECT_EQ(call["o"].all_bits(), o);
  }
}

TEST(Flash, LiesBesideMath) {
  for (const char* causal : {"none", "top_left", "bottom_right"}) {
    const AttentionShape shape{.B = 2, .H = 4, .Hk = 2, .Tq = 37, .Tk = 131, .D = 129, .Dv = 17};
    PackCall flash = attention_call("flash.simt.f32", shape), math = attention_call("math.simt.f32", shape);
    flash.text("causal", causal);
    math.text("causal", causal);
    ASSERT_EQ(flash.run(), NBX_OK) << flash.message;
    ASSERT_EQ(math.run(), NBX_OK) << math.message;
    for (const char* name : {"o", "lse"}) {
      for (std::int64_t i = 0; i < flash[name].elements(); ++i) {
        ASSERT_TRUE(std::fabs(flash[name].get(i) - math[name].get(i)) <= 1e-5) << causal << " " << name << " " << i;
      }
    }
  }
}

}  // namespace
}  // namespace nbx::test
