// paged.append and paged.decode: pages filled by the one are read by the other as decode reads a plain cache.
#include <gmock/gmock.h>

#include <cmath>

#include "tests/kernels/pack_call.hpp"

namespace nbx::test {
namespace {

using testing::HasSubstr;

constexpr DLDataType int32{kDLInt, 32, 1};
constexpr std::int64_t Hk = 2, D = 24, tokens = 64, pages = 5;

PackCall append_call(const std::string& kernel, std::int64_t N, const std::vector<std::int32_t>& slots) {
  PackCall call(kernel);
  call.add({"new", NBX_IN, call.kernel->format, {N, Hk, D}}).randomise(3);
  call.add({"slots", NBX_IN, int32, {N}}).set_integers(slots);
  call.add({"pool", NBX_INOUT, call.kernel->format, {pages, Hk, tokens, D}}).fill(7);
  return call;
}

std::int64_t place(std::int64_t slot, std::int64_t h, std::int64_t d) {
  return ((slot / tokens * Hk + h) * tokens + slot % tokens) * D + d;
}

TEST(PagedAppend, PutsEachTokenAtItsSlotAndTouchesNothingElse) {
  const std::vector<std::int32_t> slots{200, -1, 0, 63, 319};
  PackCall call = append_call("paged.append.bf16", 5, slots);
  ASSERT_EQ(call.run(), NBX_OK) << call.message;
  std::int64_t changed = 0;
  for (std::int64_t i = 0; i < call["pool"].elements(); ++i) changed += call["pool"].get(i) != 7;
  EXPECT_EQ(changed, 4 * Hk * D);
  for (std::int64_t n = 0; n < 5; ++n)
    for (std::int64_t i = 0; slots[static_cast<std::size_t>(n)] >= 0 && i < Hk * D; ++i)
      EXPECT_EQ(call["pool"].get(place(slots[static_cast<std::size_t>(n)], i / D, i % D)),
                call["new"].get(n * Hk * D + i));
}

TEST(PagedAppend, CheckRefusesSlotsAndPoolsThatDoNotFit) {
  PackCall twice = append_call("paged.append.f32", 3, {4, 9, 4});
  EXPECT_EQ(twice.check(), NBX_INVALID);
  EXPECT_THAT(twice.message, HasSubstr("slots: 4 of tokens 0 and 2"));
  PackCall far = append_call("paged.append.f32", 1, {320});
  EXPECT_EQ(far.check(), NBX_INVALID);
  EXPECT_THAT(far.message, HasSubstr("0 to 319"));
  PackCall other("paged.append.f32");
  other.add({"new", NBX_IN, other.kernel->format, {1, Hk, D}});
  other.add({"slots", NBX_IN, int32, {1}}).set_integers({0});
  other.add({"pool", NBX_INOUT, other.kernel->format, {pages, Hk + 1, tokens, D}});
  EXPECT_EQ(other.check(), NBX_INVALID);
  EXPECT_THAT(other.message, HasSubstr("pool: KV heads 3"));
}

/// Sequences of 130 and 5 keys of `from` (decode's k or v) in `table`'s pages.
void fill_pool(Array& pool, const Array& from, const std::vector<std::int32_t>& table, std::int64_t capacity) {
  const std::int64_t lengths[] = {130, 5};
  pool.fill(-3);
  for (std::int64_t b = 0; b < 2; ++b)
    for (std::int64_t h = 0; h < Hk; ++h)
      for (std::int64_t i = 0; i < lengths[b] * D; ++i) {
        const std::int64_t page = table[static_cast<std::size_t>(b * 3 + i / D / tokens)];
        pool.set(place(page * tokens + i / D % tokens, h, i % D), from.get((b * Hk + h) * capacity * D + i));
      }
}

PackCall paged_call(const std::string& kernel, PackCall& decode, const std::vector<std::int32_t>& table) {
  PackCall call(kernel);
  const DLDataType format = call.kernel->format;
  Array& q = call.add({"q", NBX_IN, format, {2, 4, 1, D}});
  for (std::int64_t i = 0; i < q.elements(); ++i) q.set(i, decode["q"].get(i));
  fill_pool(call.add({"k_pool", NBX_IN, format, {pages, Hk, tokens, D}}), decode["k"], table, 140);
  fill_pool(call.add({"v_pool", NBX_IN, format, {pages, Hk, tokens, D}}), decode["v"], table, 140);
  call.add({"block_table", NBX_IN, int32, {2, 3}}).set_integers(table);
  call.add({"seq_lens", NBX_IN, int32, {2}}).set_integers({130, 5});
  call.add({"o", NBX_OUT, format, {2, 4, 1, D}});
  call.add({"lse", NBX_OUT, {kDLFloat, 32, 1}, {2, 4, 1}});
  call.integer("max_seq_len", 130);
  return call;
}

PackCall decode_call(const std::string& kernel) {
  PackCall call = attention_call(kernel, {.B = 2, .H = 4, .Hk = Hk, .Tq = 1, .Tk = 140, .D = D, .Dv = D});
  call.add({"seq_lens", NBX_IN, int32, {2}}).set_integers({130, 5});
  return call;
}

TEST(PagedDecode, HasTheBitsOfDecodeWhereverPagesLie) {
  for (const char* format : {"f32", "f16", "bf16"}) {
    PackCall decode = decode_call(std::string("decode.vec.") + format);
    ASSERT_EQ(decode.run(), NBX_OK) << decode.message;
    for (const std::vector<std::int32_t>& table :
         {std::vector<std::int32_t>{0, 1, 2, 3, -1, -1}, {4, 0, 3, 1, -1, 9}}) {
      PackCall paged = paged_call(std::string("paged.decode.") + format, decode, table);
      for (const std::int64_t heads : {1, 2}) {
        paged.option("block_heads", heads);
        ASSERT_EQ(paged.run(), NBX_OK) << paged.message;
        EXPECT_EQ(paged["o"].all_bits(), decode["o"].all_bits()) << format;
        EXPECT_EQ(paged["lse"].all_bits(), decode["lse"].all_bits()) << format;
      }
    }
  }
}

TEST(PagedDecode, ANanKeyOfAnyPageReachesItsSequenceAlone) {
  const std::vector<std::int32_t> table{4, 0, 3, 1, -1, -1};
  PackCall decode = decode_call("decode.vec.f32");
  for (std::size_t number = 0; number < 3; ++number) {
    PackCall paged = paged_call("paged.decode.f32", decode, table);
    paged["k_pool"].set(place(table[number] * tokens + 1, 0, 5), std::nanf(""));
    paged["k_pool"].set(place(2 * tokens, 0, 0), std::nanf(""));      // a page of nobody's
    paged["v_pool"].set(place(3 * tokens + 2, 0, 0), std::nanf(""));  // behind 130 keys
    ASSERT_EQ(paged.run(), NBX_OK) << paged.message;
    for (std::int64_t i = 0; i < 8; ++i)
      EXPECT_EQ(std::isnan(paged["lse"].get(i)), i < 2) << "page " << number << ", row " << i;
  }
}

TEST(PagedDecode, CheckLooksIntoTables) {
  PackCall decode = decode_call("decode.vec.f32");
  PackCall missing = paged_call("paged.decode.f32", decode, {0, 1, 2, 3, -1, -1});
  missing["block_table"].set_integers({0, -1, 2, 3, -1, -1});
  EXPECT_EQ(missing.check(), NBX_INVALID);
  EXPECT_THAT(missing.message, HasSubstr("block_table: -1 of sequence 0, entry 1"));
  PackCall longer = paged_call("paged.decode.f32", decode, {0, 1, 2, 3, -1, -1});
  longer["seq_lens"].set_integers({193, 5});
  EXPECT_EQ(longer.check(), NBX_INVALID);
  EXPECT_THAT(longer.message, HasSubstr("seq_lens: 193 of sequence 0"));
}

}  // namespace
}  // namespace nbx::test
