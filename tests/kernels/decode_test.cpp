// decode: values beside math's, and bits that depend on nothing but a sequence's own keys. What the values must be is
// the contract's to judge.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "tests/kernels/pack_call.hpp"

namespace nbx::test {
namespace {

using testing::HasSubstr;

constexpr DLDataType int32{kDLInt, 32, 1};
constexpr float infinity = std::numeric_limits<float>::infinity();

PackCall with_lengths(const std::string& kernel, const AttentionShape& shape,
                      const std::vector<std::int32_t>& lengths) {
  PackCall call = attention_call(kernel, shape);
  call.add({"seq_lens", NBX_IN, int32, {shape.B}}).set_integers(lengths);
  return call;
}

std::vector<std::uint32_t> bits_of_sequence(PackCall& call, const char* name, std::int64_t b, std::int64_t batch) {
  const std::vector<std::uint32_t> all = call[name].all_bits();
  const auto each = static_cast<std::ptrdiff_t>(all.size()) / batch;
  return {all.begin() + b * each, all.begin() + (b + 1) * each};
}

TEST(Decode, LiesBesideMath) {
  for (const char* kernel : {"decode.split.f32", "decode.vec.f32", "decode.published.f32"})
    for (const std::int64_t keys : {1, 255, 256, 257, 600}) {
      const AttentionShape shape{.B = 2, .H = 6, .Hk = 2, .Tq = 1, .Tk = keys, .D = 40, .Dv = 24};
      PackCall decode = attention_call(kernel, shape), math = attention_call("math.simt.f32", shape);
      ASSERT_EQ(decode.run(), NBX_OK) << decode.message;
      ASSERT_EQ(math.run(), NBX_OK) << math.message;
      for (const char* name : {"o", "lse"})
        for (std::int64_t i = 0; i < decode[name].elements(); ++i)
          ASSERT_TRUE(std::fabs(decode[name].get(i) - math[name].get(i)) <= 1e-5)
              << kernel << " " << keys << " " << name << " " << i;
    }
}

TEST(Decode, NeitherBlocksNorOrdersShow) {
  const AttentionShape shape{.B = 2, .H = 6, .Hk = 2, .Tq = 1, .Tk = 600, .D = 72, .Dv = 72};
  PackCall vec = attention_call("decode.vec.bf16", shape), split = attention_call("decode.split.bf16", shape);
  ASSERT_EQ(vec.run(), NBX_OK) << vec.message;
  for (const std::int64_t heads : {1, 2, 3, 7}) {
    split.option("block_heads", heads);
    ASSERT_EQ(split.run(), NBX_OK) << split.message;
    EXPECT_EQ(split["o"].all_bits(), vec["o"].all_bits()) << heads;
    EXPECT_EQ(split["lse"].all_bits(), vec["lse"].all_bits()) << heads;
  }
  for (const Condition& condition : conditions) {
    split.launch.block_order = condition.blocks;
    split.launch.item_order = condition.items;
    split.launch.threads = condition.threads;
    split.launch.order_seed = 7;
    ASSERT_EQ(split.run(), NBX_OK) << split.message;
    EXPECT_EQ(split["o"].all_bits(), vec["o"].all_bits());
  }
}

TEST(Decode, ASequenceAmongStrangersHasItsOwnBits) {
  const AttentionShape shape{.B = 4, .H = 4, .Hk = 2, .Tq = 1, .Tk = 520, .D = 32, .Dv = 32};
  PackCall all = with_lengths("decode.split.f32", shape, {520, 257, 0, 3});
  ASSERT_EQ(all.run(), NBX_OK) << all.message;
  // The same keys in a cache that ends with them; math gives the row's expected emptiness.
  AttentionShape alone = shape;
  alone.B = 1, alone.Tk = 257;
  PackCall one = attention_call("decode.split.f32", alone);
  for (const char* name : {"q", "k", "v"}) {
    Array &from = all[name], &to = one[name];
    const std::int64_t rows = name[0] == 'q' ? 1 : 520, kept = name[0] == 'q' ? 1 : 257, heads = name[0] == 'q' ? 4 : 2;
    for (std::int64_t h = 0; h < heads; ++h)
      for (std::int64_t i = 0; i < kept * 32; ++i) to.set(h * kept * 32 + i, from.get((heads + h) * rows * 32 + i));
  }
  ASSERT_EQ(one.run(), NBX_OK) << one.message;
  for (const char* name : {"o", "lse"}) EXPECT_EQ(bits_of_sequence(all, name, 1, 4), one[name].all_bits()) << name;
  for (const std::uint32_t bits : bits_of_sequence(all, "o", 2, 4)) EXPECT_EQ(bits, 0U) << "+0 of no key";
  for (std::int64_t i = 8; i < 12; ++i) EXPECT_EQ(all["lse"].get(i), -infinity);
}

TEST(Decode, ANanKeyOfAnySegmentReachesItsRowsAndNoneBehindALengthDoes) {
  const AttentionShape shape{.B = 1, .H = 4, .Hk = 2, .Tq = 1, .Tk = 700, .D = 16, .Dv = 16};
  for (const char* kernel : {"decode.split.f32", "decode.vec.f16"})
    for (const std::int64_t key : {0, 255, 256, 511, 512, 698}) {
      PackCall call = with_lengths(kernel, shape, {699});
      call["k"].set((700 + key) * 16 + 3, std::nanf(""));  // KV head 1
      call["v"].set((700 + 699) * 16, std::nanf(""));      // behind the length
      ASSERT_EQ(call.run(), NBX_OK) << call.message;
      for (std::int64_t i = 0; i < 4 * 16; ++i) EXPECT_EQ(std::isnan(call["o"].get(i)), i >= 32) << key << " " << i;
      for (std::int64_t i = 0; i < 4; ++i) EXPECT_EQ(std::isnan(call["lse"].get(i)), i >= 2) << key << " " << i;
    }
}

TEST(Decode, QRoundHasTheBitsOfACastCopy) {
  const AttentionShape shape{.H = 2, .Hk = 1, .Tq = 1, .Tk = 70, .D = 33, .Dv = 33};
  PackCall cast = attention_call("decode.vec.bf16", shape), rounded("decode.vec.bf16");
  rounded.add({"q", NBX_IN, {kDLFloat, 32, 1}, {1, 2, 1, 33}}).randomise(9);
  for (const char* name : {"k", "v"}) {
    Array& to = rounded.add({name, NBX_IN, cast.kernel->format, {1, 1, 70, 33}});
    for (std::int64_t i = 0; i < to.elements(); ++i) to.set(i, cast[name].get(i));
  }
  rounded.add({"o", NBX_OUT, cast.kernel->format, {1, 2, 1, 33}});
  rounded.integer("q_round", 1);
  for (std::int64_t i = 0; i < cast["q"].elements(); ++i) cast["q"].set(i, rounded["q"].get(i));
  ASSERT_EQ(cast.run(), NBX_OK) << cast.message;
  ASSERT_EQ(rounded.run(), NBX_OK) << rounded.message;
  EXPECT_EQ(rounded["o"].all_bits(), cast["o"].all_bits());
}

TEST(Decode, CheckLooksAtLengths) {
  for (const std::int32_t length : {-1, 71}) {
    PackCall call = with_lengths("decode.split.bf16", {.B = 2, .Tq = 1, .Tk = 70, .D = 8, .Dv = 8}, {3, length});
    EXPECT_EQ(call.check(), NBX_INVALID);
    EXPECT_THAT(call.message, HasSubstr("seq_lens: " + std::to_string(length) + " of sequence 1"));
  }
}

}  // namespace
}  // namespace nbx::test
