// The route: profiles as they are read, and the rules one by one, without a kernel. That calls go where the rules say
// is the contract's to judge.
#include <gmock/gmock.h>

#include <filesystem>

#include "kernels/pack/refusal.hpp"
#include "kernels/sdpa/route.hpp"
#include "tests/kernels/pack_call.hpp"

namespace nbx::test {
namespace {

using sdpa::choose_route;
using sdpa::DecodeVec;
using sdpa::Profile;
using sdpa::read_profile;
using sdpa::Route;
using sdpa::RouteQuestion;
using testing::HasSubstr;
using testing::StartsWith;

const std::string example = std::string(NBX_SOURCE) + "/kernels/sdpa/profiles/16gib.json";

class Kernels : public sdpa::Candidates {
 public:
  Kernels(bool decode, bool unit) : decode_(decode), unit_(unit) {}
  bool decode_vec(std::string& why) const override { return said(decode_, why); }
  bool unit_flash(std::string& why) const override { return said(unit_, why); }

 private:
  static bool said(bool there, std::string& why) {
    if (!there) why = "none here";
    return there;
  }
  bool decode_, unit_;
};
const Kernels none(false, false), all(true, true);

std::string refusal_of(const std::string& profile) {
  try {
    read_profile(profile);
  } catch (const pack::Refusal& refusal) {
    EXPECT_EQ(refusal.status, NBX_INVALID);
    return refusal.message;
  }
  return "accepted";
}

TEST(Profile, TheExampleFileHasTheBudgetOfItsCard) {
  const Profile profile = read_profile(example);
  EXPECT_EQ(profile.budget(), 1'133'871'366U) << "0.066 of 16 GiB, below 2 GiB";
  EXPECT_EQ(profile.min_rows, 128);
  EXPECT_EQ(profile.max_chunks, 16);
  EXPECT_TRUE(profile.has_tile("f16", 64));
  EXPECT_FALSE(profile.has_tile("f16", 96));
  EXPECT_FALSE(profile.has_tile("f32", 64));
}

TEST(Profile, TheFractionCapsOnlyWhereTheDeviceIsKnown) {
  EXPECT_EQ(read_profile(R"({"bytes": 100, "fraction": 0.5})").budget(), 100U);
  EXPECT_EQ(read_profile(R"({"bytes": 100, "memory_bytes": 50})").budget(), 100U);
  EXPECT_EQ(read_profile(R"({"bytes": 100, "fraction": 0.5, "memory_bytes": 50})").budget(), 25U);
  EXPECT_EQ(read_profile(R"({"bytes": 20, "fraction": 0.5, "memory_bytes": 50})").budget(), 20U);
}

TEST(Profile, WhatCannotBeReadIsAnErrorAndNotABudgetOfZero) {
  for (const char* const bad :
       {"/nowhere/at/all.json", "/proc", "", "[1]", "{", R"({"fraction": 0.5})", R"({"bytes": -1})",
        R"({"bytes": 1.5})", R"({"bytes": "2 GiB"})", R"({"bytes": 1, "fraction": 0})",
        R"({"bytes": 1, "fraction": 1.5})", R"({"bytes": 1, "min_rows": 0})", R"({"bytes": 1, "max_chunks": null})",
        R"({"bytes": 1, "tiles": [64]})", R"({"bytes": 1, "tiles": {"f16": 64}})", R"({"bytes": 1, "rows": 3})"}) {
    EXPECT_THAT(refusal_of(bad), StartsWith("profile: ")) << bad;
    EXPECT_THAT(refusal_of(bad), HasSubstr("accepted: ")) << bad;
  }
}

RouteQuestion question(std::int64_t Tq, std::int64_t Tk, std::int64_t D, const char* profile = nullptr) {
  RouteQuestion q{2, 8, Tq, Tk, D, D, "f16", std::nullopt, false, DecodeVec::by_default};
  if (profile != nullptr) q.profile = read_profile(profile);
  return q;
}

TEST(Route, WithoutAProfilePowersOfTwoHaveNoBudgetAndOthersTwoGibibytes) {
  EXPECT_EQ(choose_route(question(2, 1, 64), none).kind, Route::Kind::flash);
  EXPECT_EQ(choose_route(question(8192, 4096, 72), none).kind, Route::Kind::math) << "2 GiB exactly";
  EXPECT_EQ(choose_route(question(8192, 4097, 72), none).kind, Route::Kind::flash);
  EXPECT_EQ(choose_route(question(0, 9, 64), none).kind, Route::Kind::math) << "no scores";
  EXPECT_EQ(choose_route(question(std::int64_t{1} << 40, std::int64_t{1} << 40, 72), none).kind, Route::Kind::flash);
}

TEST(Route, ChunksAreRoundedDownAndFew) {
  // 64 bytes of scores for a row and key: 64,000 bytes a row of 1,000 keys.
  const auto at = [](const char* profile) { return choose_route(question(1000, 1000, 64, profile), none).text(); };
  EXPECT_THAT(at(R"({"bytes": 6464000, "min_rows": 10, "max_chunks": 10})"), StartsWith("chunked(100): "));
  EXPECT_THAT(at(R"({"bytes": 6399999, "min_rows": 10, "max_chunks": 12})"), StartsWith("chunked(90): "));
  EXPECT_THAT(at(R"({"bytes": 6399999, "min_rows": 10, "max_chunks": 11})"), StartsWith("flash: "));
  EXPECT_THAT(at(R"({"bytes": 6464000, "min_rows": 102, "max_chunks": 10})"), StartsWith("flash: "));
  EXPECT_THAT(at(R"({"bytes": 6464000, "max_chunks": 10})"), StartsWith("flash: "));
  EXPECT_THAT(at(R"({"bytes": 6464000, "min_rows": 10})"), StartsWith("flash: "));
  EXPECT_THAT(at(R"({"bytes": 64000000})"), StartsWith("math: "));
  EXPECT_THAT(at(R"({"bytes": 63999999})"), StartsWith("flash: "));
}

TEST(Route, AUnitIsTakenBeforeChunksWhereTheProfileHasItsTile) {
  const char* const profile = R"({"bytes": 64000, "min_rows": 1, "max_chunks": 2000, "tiles": {"f16": [64]}})";
  EXPECT_EQ(choose_route(question(1000, 1000, 64, profile), all).kind, Route::Kind::unit_flash);
  EXPECT_EQ(choose_route(question(1000, 1000, 64, profile), none).kind, Route::Kind::chunked);
  EXPECT_EQ(choose_route(question(1000, 1000, 128, profile), all).kind, Route::Kind::chunked);
  RouteQuestion f32 = question(1000, 1000, 64, profile);
  f32.format = "f32";
  EXPECT_EQ(choose_route(f32, all).kind, Route::Kind::chunked);
  f32.profile = read_profile(R"({"bytes": 64000, "tiles": {"tf32": [64]}})");
  EXPECT_EQ(choose_route(f32, all).kind, Route::Kind::unit_flash) << "a unit takes f32 as tf32";
}

TEST(Route, OneQueryIsDecodedWhereMathWouldBe) {
  const char* const plenty = R"({"bytes": 1000000})";
  RouteQuestion q = question(1, 100, 64, plenty);
  EXPECT_EQ(choose_route(q, all).kind, Route::Kind::decode_vec);
  EXPECT_EQ(choose_route(q, none).kind, Route::Kind::math);
  EXPECT_THAT(choose_route(q, none).text(), HasSubstr("none here"));
  EXPECT_EQ(choose_route(question(2, 100, 64, plenty), all).kind, Route::Kind::math);
  EXPECT_EQ(choose_route(question(1, 100, 64), all).kind, Route::Kind::flash) << "no math, no decode";
  q.decode_vec = DecodeVec::off;
  EXPECT_EQ(choose_route(q, all).kind, Route::Kind::math);
  q.decode_vec = DecodeVec::first;
  q.forced = true;
  EXPECT_EQ(choose_route(q, all).kind, Route::Kind::math) << "forced is pure math";
  q.forced = false;
  q.profile.reset();
  EXPECT_EQ(choose_route(q, all).kind, Route::Kind::decode_vec);
  RouteQuestion latent = question(1, 100, 192);
  latent.Dv = 128;
  EXPECT_EQ(choose_route(latent, all).kind, Route::Kind::decode_vec);
  latent.Tq = 2;
  EXPECT_EQ(choose_route(latent, all).kind, Route::Kind::math);
}

TEST(Route, ACallReadsItsProfileFromTheFile) {
  PackCall right = attention_call("math.simt.f16", {.H = 2, .Hk = 1, .Tq = 5, .Tk = 9, .D = 64, .Dv = 64});
  PackCall call("sdpa.route.f16");
  for (Array& array : right.arrays) call.add(array);
  call.text("profile", example.c_str());
  ASSERT_EQ(call.run(), NBX_OK) << call.message;
  ASSERT_EQ(right.run(), NBX_OK) << right.message;
  EXPECT_EQ(call["o"].all_bits(), right["o"].all_bits());
}

}  // namespace
}  // namespace nbx::test
