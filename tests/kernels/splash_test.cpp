// The splash kernels against each other: what the gates cannot ask of two families at once.
#include <gtest/gtest.h>

#include "kernels/splash/constants.hpp"
#include "tests/kernels/pack_call.hpp"

namespace nbx::test {
namespace {

constexpr DLDataType f32{kDLFloat, 32, 1}, bf16{kDLBfloat, 16, 1};

struct Sizes {
  std::int64_t B = 1, H = 4, Hk = 2, Tq = 32, Tk = 100, D = 64, block_q = 16;
};

/// Inputs that depend on the seed alone, whatever the kernel.
PackCall splash_call(const std::string& kernel, const Sizes& s, float spread) {
  PackCall call(kernel);
  const DLDataType type = kernel.ends_with("bf16") ? bf16 : f32;
  call.add({"q", NBX_IN, type, {s.B, s.H, s.Tq, s.D}}).randomise(1, spread);
  call.add({"k", NBX_IN, type, {s.B, s.Hk, s.Tk, s.D}}).randomise(2, 0.2f);
  call.add({"v", NBX_IN, type, {s.B, s.Hk, s.Tk, s.D}}).randomise(3);
  call.integer("block_q", s.block_q);
  return call;
}

/// mk and k_mean as the metadata kernel of the same format makes them, added as inputs.
void add_metadata(PackCall& call, const std::string& format, const Sizes& s, float spread) {
  const std::int64_t blocks = s.Tq / s.block_q;
  PackCall made = splash_call("splash.metadata." + format, s, spread);
  made.add({"mk", NBX_OUT, f32, {s.B, 2, s.H, blocks}});
  made.add({"k_mean", NBX_OUT, f32, {s.B, s.Hk, s.D}});
  ASSERT_EQ(made.run(), NBX_OK) << made.message;
  for (const char* name : {"mk", "k_mean"}) {
    const Shape shape = name == std::string("mk") ? Shape{s.B, 2, s.H, blocks} : Shape{s.B, s.Hk, s.D};
    Array& to = call.add({name, NBX_IN, f32, shape});
    for (std::int64_t i = 0; i < to.elements(); ++i) to.set(i, made[name].get(i));
  }
}

std::vector<std::uint32_t> output(PackCall& call, const Sizes& s) {
  const DLDataType type = std::string(call.kernel->name).ends_with("bf16") ? bf16 : f32;
  call.add({"o", NBX_OUT, type, {s.B, s.H, s.Tq, s.D}});
  EXPECT_EQ(call.run(), NBX_OK) << call.message;
  return call["o"].all_bits();
}

std::vector<std::uint32_t> of_kernel(const std::string& variant, const std::string& format, const Sizes& s,
                                     float spread) {
  PackCall call = splash_call("splash." + variant + "." + format, s, spread);
  if (variant == "hybrid" || variant == "uniform") add_metadata(call, format, s, spread);
  return output(call, s);
}

TEST(Splash, HybridHasTheBitsOfUniformWhereAllBlocksAreEligible) {
  const Sizes s{.B = 2};
  for (const char* format : {"f32", "bf16"}) {
    const auto uniform = of_kernel("uniform", format, s, 1);
    EXPECT_EQ(of_kernel("hybrid", format, s, 1), uniform) << format;
    EXPECT_EQ(of_kernel("dispatch", format, s, 1), uniform) << format;
    EXPECT_NE(of_kernel("online", format, s, 1), uniform) << format;  // within bound, not in bits
  }
}

TEST(Splash, HybridHasTheBitsOfOnlineWhereNoBlockIs) {
  const Sizes s{.B = 2};
  constexpr float wide = 200;
  for (const char* format : {"f32", "bf16"}) {
    const auto online = of_kernel("online", format, s, wide);
    EXPECT_EQ(of_kernel("hybrid", format, s, wide), online) << format;
    EXPECT_EQ(of_kernel("dispatch", format, s, wide), online) << format;
  }
}

TEST(Splash, TheOldLayoutOfMkIsRefusedByItsOwnWords) {
  const Sizes s;
  PackCall call = splash_call("splash.hybrid.f32", s, 1);
  call.add({"mk", NBX_IN, f32, {2, s.H}});
  call.add({"k_mean", NBX_IN, f32, {s.B, s.Hk, s.D}});
  call.add({"o", NBX_OUT, f32, {s.B, s.H, s.Tq, s.D}});
  EXPECT_EQ(call.check(), NBX_INVALID);
  EXPECT_NE(call.message.find("mk: rank 2, shape [2, 4]"), std::string::npos) << call.message;
  EXPECT_NE(call.message.find("per query block now"), std::string::npos) << call.message;
  EXPECT_NE(call.message.find("[2, H, nQ]"), std::string::npos) << call.message;
}

TEST(Splash, RootsAreRoundedUp) {
  for (int n = 0; n < 130; ++n) {
    const auto square = static_cast<float>(n * n);
    EXPECT_EQ(splash::ceil_root(square, 200), n);
    EXPECT_EQ(splash::ceil_root(square + 0.01f, 200), n + 1);
    EXPECT_EQ(splash::ceil_root(square + 0.01f, n), n);
  }
}

}  // namespace
}  // namespace nbx::test
