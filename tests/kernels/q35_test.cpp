// Rows-first attention: values beside a plain loop over double, chunks beside each other, and grids that do not show.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/kernels/pack_call.hpp"

namespace nbx::test {
namespace {

using testing::HasSubstr;

constexpr DLDataType int32{kDLInt, 32, 1}, f32{kDLFloat, 32, 1}, bf16{kDLBfloat, 16, 1};
constexpr std::int64_t D = 256, H = 4, Hk = 2, streams = 2, capacity = 400, rows = 5, chunks = 4;
const std::vector<std::int32_t> stream_of{0, 1, 1, 0, 1}, limit_of{0, 1, 128, 300, 400};

PackCall rows_call(const std::string& kernel) {
  PackCall call(kernel);
  const bool scaled = kernel.ends_with("e4m3"), partial = kernel.find(".partial.") != std::string::npos;
  call.add({"q", NBX_IN, bf16, {rows, H, D}}).randomise(1);
  call.add({"k", NBX_IN, call.kernel->format, {streams, Hk, capacity, D}}).randomise(2, 0.5F);
  call.add({"v", NBX_IN, call.kernel->format, {streams, Hk, capacity, D}}).randomise(3);
  if (scaled)
    for (const char* name : {"k_scale", "v_scale"}) {
      Array& scale = call.add({name, NBX_IN, f32, {Hk}});
      scale.set(0, 0.75F);
      scale.set(1, 1.5F);
    }
  call.add({"stream", NBX_IN, int32, {rows}}).set_integers(stream_of);
  call.add({"limit", NBX_IN, int32, {rows}}).set_integers(limit_of);
  if (partial) {
    call.add({"pm", NBX_PARTIAL, f32, {rows, H, chunks}});
    call.add({"pl", NBX_PARTIAL, f32, {rows, H, chunks}});
    call.add({"po", NBX_PARTIAL, f32, {rows, H, chunks, D}});
  } else {
    call.add({"o", NBX_OUT, bf16, {rows, H, D}});
  }
  call.integer("chunks", chunks);
  return call;
}

struct Part {
  double m = -std::numeric_limits<double>::infinity(), l = 0;
  std::vector<double> o = std::vector<double>(D, 0.0);
};

/// Keys [first, last) of a row and head.
Part part_of(PackCall& call, std::int64_t row, std::int64_t head, std::int64_t first, std::int64_t last) {
  const std::int64_t kv = stream_of[static_cast<std::size_t>(row)] * Hk + head / (H / Hk);
  const bool scaled = call.kernel->format.bits == 8;
  const double k_scale = scaled ? static_cast<double>(call["k_scale"].get(kv % Hk)) : 1;
  const double v_scale = scaled ? static_cast<double>(call["v_scale"].get(kv % Hk)) : 1;
  const auto at = [&](const char* name, std::int64_t i) { return static_cast<double>(call[name].get(i)); };
  std::vector<double> scores;
  Part part;
  for (std::int64_t j = first; j < last; ++j) {
    double dot = 0;
    for (std::int64_t d = 0; d < D; ++d)
      dot += at("q", (row * H + head) * D + d) * at("k", (kv * capacity + j) * D + d);
    scores.push_back(dot * k_scale / 16);
    part.m = std::max(part.m, scores.back());
  }
  for (std::int64_t j = first; j < last; ++j) {
    const double weight = std::exp(scores[static_cast<std::size_t>(j - first)] - part.m);
    part.l += weight;
    for (std::int64_t d = 0; d < D; ++d)
      part.o[static_cast<std::size_t>(d)] += weight * v_scale * at("v", (kv * capacity + j) * D + d);
  }
  return part;
}

class Q35 : public testing::TestWithParam<const char*> {
 protected:
  static std::string named(const char* variant) { return std::string("q35.") + variant + "." + GetParam(); }
};
INSTANTIATE_TEST_SUITE_P(Caches, Q35, testing::Values("bf16", "e4m3"), [](const auto& one) { return one.param; });

TEST_P(Q35, LiesBesideAPlainLoop) {
  PackCall merge = rows_call(named("merge")), partial = rows_call(named("partial"));
  ASSERT_EQ(merge.run(), NBX_OK) << merge.message;
  ASSERT_EQ(partial.run(), NBX_OK) << partial.message;
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t head = 0; head < H; head += 3) {
      const std::int64_t limit = limit_of[static_cast<std::size_t>(row)], scalar = row * H + head;
      const Part whole = part_of(merge, row, head, 0, limit);
      for (std::int64_t d = 0; d < D; ++d) {
        const double right = limit == 0 ? 0 : whole.o[static_cast<std::size_t>(d)] / whole.l;
        ASSERT_TRUE(std::fabs(static_cast<double>(merge["o"].get(scalar * D + d)) - right) <= 0x1p-8)
            << row << " " << d;
      }
      for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
        const Part part = part_of(partial, row, head, std::min(128 * chunk, limit), std::min(128 * (chunk + 1), limit));
        const std::int64_t i = scalar * chunks + chunk;
        const auto pm = static_cast<double>(partial["pm"].get(i)), pl = static_cast<double>(partial["pl"].get(i));
        ASSERT_TRUE(pm == part.m || std::fabs(pm - part.m) <= 1e-4) << row << " " << chunk;
        ASSERT_TRUE(std::fabs(pl - part.l) <= 1e-4 * part.l) << row << " " << chunk;
        for (std::int64_t d = 0; d < D; ++d)
          ASSERT_TRUE(std::fabs(static_cast<double>(partial["po"].get(i * D + d)) -
                                part.o[static_cast<std::size_t>(d)]) <= 1e-3)
              << row << " " << chunk << " " << d;
      }
    }
}

TEST_P(Q35, NeitherGridsNorOrdersShow) {
  PackCall call = rows_call(named("merge"));
  ASSERT_EQ(call.run(), NBX_OK) << call.message;
  const auto o = call["o"].all_bits();
  for (const Condition& condition : conditions) {
    call.option("chunks_first", 1);
    call.launch.block_order = condition.blocks;
    call.launch.item_order = condition.items;
    call.launch.threads = condition.threads;
    call.launch.order_seed = 7;
    ASSERT_EQ(call.run(), NBX_OK) << call.message;
    EXPECT_EQ(call["o"].all_bits(), o);
  }
}

TEST_P(Q35, ANanKeyOfAnyChunkReachesTheRowsThatSeeIt) {
  for (const std::int64_t key : {0, 127, 128, 299, 300, 399}) {
    for (const char* variant : {"merge", "published"}) {
      PackCall call = rows_call(named(variant));
      for (std::int64_t s = 0; s < streams; ++s) call["k"].set((s * Hk * capacity + key) * D + 9, std::nanf(""));
      ASSERT_EQ(call.run(), NBX_OK) << call.message;
      for (std::int64_t row = 0; row < rows; ++row) {
        const std::int32_t limit = limit_of[static_cast<std::size_t>(row)];
        // The published merge passes over a chunk of NaN where there is another.
        const bool hides = std::string(variant) == "published" && limit > 128;
        for (std::int64_t head = 0; head < H; ++head) {
          const bool sees = key < limit && head < 2;
          if (hides && sees) {
            EXPECT_FALSE(std::isnan(call["o"].get((row * H + head) * D))) << key << " " << row;
          } else if (!hides && std::string(variant) == "merge") {
            EXPECT_EQ(std::isnan(call["o"].get((row * H + head) * D)), sees) << key << " " << row << " " << head;
          }
        }
      }
    }
  }
}

TEST(Q35Check, LooksIntoTables) {
  PackCall limit = rows_call("q35.merge.e4m3"), stream = rows_call("q35.merge.e4m3");
  limit["limit"].set_integers({0, 1, 401, 3, 4});
  EXPECT_EQ(limit.check(), NBX_INVALID);
  EXPECT_THAT(limit.message, HasSubstr("limit: 401"));
  stream["stream"].set_integers({0, 1, 1, 2, 0});
  EXPECT_EQ(stream.check(), NBX_INVALID);
  EXPECT_THAT(stream.message, HasSubstr("stream: 2"));
}

}  // namespace
}  // namespace nbx::test
