// math and chunked: their equalities by bits, the rows that hold special values, and a loose look at the values. What
// their values must be is the contract's to judge.
#include <cmath>
#include <limits>

#include "tests/kernels/pack_call.hpp"

namespace nbx::test {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

/// Attention in double, from the definition. Scores of −inf count as masked.
struct Naive {
  std::vector<double> o, lse;
};
Naive naive(PackCall& call, const AttentionShape& s, const char* causal, double scale) {
  Naive out;
  const std::int64_t group = s.H / s.Hk;
  for (std::int64_t row = 0; row < s.B * s.H * s.Tq; ++row) {
    const std::int64_t i = row % s.Tq, h = row / s.Tq % s.H, b = row / s.Tq / s.H;
    const std::int64_t kv = b * s.Hk + h / group;
    std::int64_t keys = s.Tk;
    if (causal[0] == 't') keys = std::min(s.Tk, i + 1);
    if (causal[0] == 'b') keys = std::max<std::int64_t>(0, std::min(s.Tk, i + 1 + s.Tk - s.Tq));
    std::vector<double> score;
    double max = -infinity;
    for (std::int64_t j = 0; j < keys; ++j) {
      double dot = 0;
      for (std::int64_t d = 0; d < s.D; ++d) {
        dot += static_cast<double>(call["q"].get(row * s.D + d)) * call["k"].get((kv * s.Tk + j) * s.D + d);
      }
      score.push_back(dot * scale);
      max = std::max(max, score.back());
    }
    double sum = 0;
    for (const double x : score) sum += std::exp(x - max);
    for (std::int64_t c = 0; c < s.Dv; ++c) {
      double value = 0;
      for (std::int64_t j = 0; j < keys; ++j) {
        value += std::exp(score[static_cast<std::size_t>(j)] - max) * call["v"].get((kv * s.Tk + j) * s.Dv + c);
      }
      out.o.push_back(keys == 0 ? 0 : value / sum);
    }
    out.lse.push_back(max + std::log(sum));
  }
  return out;
}

constexpr AttentionShape shapes[] = {
    {.B = 2, .H = 4, .Hk = 2, .Tq = 37, .Tk = 131, .D = 72, .Dv = 72},
    {.B = 1, .H = 3, .Hk = 3, .Tq = 5, .Tk = 64, .D = 129, .Dv = 17},
    {.B = 1, .H = 8, .Hk = 1, .Tq = 1, .Tk = 300, .D = 15, .Dv = 65},
    {.B = 1, .H = 1, .Hk = 1, .Tq = 70, .Tk = 9, .D = 1, .Dv = 1},
};

const std::string formats[] = {"f32", "f16", "bf16"};

double looseness(const std::string& format) { return format == "f32" ? 1e-5 : format == "f16" ? 4e-3 : 3e-2; }

TEST(Math, LooksLikeAttention) {
  for (const std::string& format : formats) {
    for (const AttentionShape& s : shapes) {
      for (const char* causal : {"none", "top_left", "bottom_right"}) {
        PackCall call = attention_call("math.simt." + format, s);
        call.text("causal", causal);
        ASSERT_EQ(call.run(), NBX_OK) << call.message;
        const float scale = static_cast<float>(1 / std::sqrt(static_cast<double>(s.D)));
        const Naive right = naive(call, s, causal, scale);
        for (std::size_t i = 0; i < right.o.size(); ++i) {
          const double error = std::fabs(call["o"].get(static_cast<std::int64_t>(i)) - right.o[i]);
          ASSERT_TRUE(error <= looseness(format)) << format << " " << causal << " o[" << i << "] off by " << error;
        }
        for (std::size_t i = 0; i < right.lse.size(); ++i) {
          const double lse = call["lse"].get(static_cast<std::int64_t>(i));
          if (std::isinf(right.lse[i])) {
            ASSERT_EQ(lse, right.lse[i]);
          } else {
            ASSERT_TRUE(std::fabs(lse - right.lse[i]) <= 1e-4) << lse << " for " << right.lse[i];
          }
        }
      }
    }
  }
}

TEST(Math, BitsDoNotDependOnOrderThreadsOrTileHeight) {
  for (const char* const kernel_name : {"math.simt.f16", "math.published.f32", "chunked.simt.bf16"}) {
    const std::string name = kernel_name;
    for (const AttentionShape& s : shapes) {
      PackCall call = attention_call(name, s, 5, name.find("published") == std::string::npos);
      call.text("causal", "bottom_right");
      ASSERT_EQ(call.run(), NBX_OK) << call.message;
      const auto bits = call["o"].all_bits();
      for (const Condition& condition : conditions) {
        call.launch.block_order = condition.blocks;
        call.launch.item_order = condition.items;
        call.launch.threads = condition.threads;
        call.launch.order_seed = 77;
        call["o"].fill(nan);
        ASSERT_EQ(call.run(), NBX_OK) << call.message;
        ASSERT_EQ(call["o"].all_bits(), bits) << name;
      }
      call.launch = {};
      call.launch.struct_size = sizeof(nbx_launch);
      for (const std::int64_t height : {1, 3, 32, 128}) {
        call.option("block_rows", height);
        call["o"].fill(nan);
        ASSERT_EQ(call.run(), NBX_OK) << call.message;
        ASSERT_EQ(call["o"].all_bits(), bits) << name << " block_rows " << height;
      }
    }
  }
}

TEST(Chunked, HasTheBitsOfMathForEveryHeightAndMask) {
  const AttentionShape s{.B = 2, .H = 4, .Hk = 2, .Tq = 37, .Tk = 90, .D = 40, .Dv = 24};
  const std::vector<Shape> masks = {{},      {37, 90},      {1, 90},       {2, 37, 90},    {2, 1, 90},
                                    {37, 1}, {2, 4, 1, 90}, {2, 1, 1, 90}, {1, 4, 37, 90}, {2, 4, 37, 1}};
  for (const std::string& format : formats) {
    for (const Shape& mask : masks) {
      const auto with_mask = [&](const std::string& name) {
        PackCall call = attention_call(name + format, s, 9);
        call.text("causal", "bottom_right");
        if (!mask.empty()) {
          Array& bias = call.add({"bias", NBX_IN, call.kernel->format, mask});
          bias.randomise(10);
          for (std::int64_t i = 0; i < bias.elements(); i += 7) bias.set(i, -infinity);
        }
        return call;
      };
      PackCall math = with_mask("math.simt.");
      ASSERT_EQ(math.run(), NBX_OK) << math.message;
      PackCall chunked = with_mask("chunked.simt.");
      for (const std::int64_t height : {1, 16, 33, 36, 37, 128}) {
        chunked.option("chunk_rows", height);
        chunked["o"].fill(nan);
        chunked["lse"].fill(nan);
        ASSERT_EQ(chunked.run(), NBX_OK) << chunked.message;
        ASSERT_EQ(chunked["o"].all_bits(), math["o"].all_bits()) << format << " mask rank " << mask.size();
        ASSERT_EQ(chunked["lse"].all_bits(), math["lse"].all_bits());
      }
    }
  }
}

TEST(Chunked, HoldsOneChunk) {
  PackCall call = attention_call("chunked.simt.f16", {.B = 2, .H = 3, .Hk = 1, .Tq = 100, .Tk = 50, .D = 8, .Dv = 8});
  call.option("chunk_rows", 16);
  // fp32 scores, rounded up to 256 bytes, then weights in f16.
  EXPECT_EQ(call.workspace_bytes(), (2 * 3 * 16 * 50 * 4 + 255) / 256 * 256 + 2 * 3 * 16 * 50 * 2);
}

TEST(Math, HiddenAndMaskedPositionsShowNowhere) {
  const AttentionShape s{.B = 1, .H = 2, .Hk = 1, .Tq = 20, .Tk = 70, .D = 16, .Dv = 16};
  for (const std::string& format : formats) {
    PackCall call = attention_call("math.simt." + format, s, 3);
    call.text("causal", "top_left");
    Array& bias = call.add({"bias", NBX_IN, call.kernel->format, {1, 70}});
    bias.fill(0);
    bias.set(4, -infinity);
    ASSERT_EQ(call.run(), NBX_OK) << call.message;
    const auto o = call["o"].all_bits(), lse = call["lse"].all_bits();
    for (const float poison : {nan, infinity, -infinity}) {
      for (const std::int64_t key : {std::int64_t{4}, std::int64_t{20}, std::int64_t{69}}) {
        for (std::int64_t d = 0; d < 16; ++d) {
          call["k"].set(key * 16 + d, poison);
          call["v"].set(key * 16 + d, poison);
        }
      }
      ASSERT_EQ(call.run(), NBX_OK);
      EXPECT_EQ(call["o"].all_bits(), o) << format << " poisoned with " << poison;
      EXPECT_EQ(call["lse"].all_bits(), lse);
    }
  }
}

TEST(Math, ANanInAVisibleKeyReachesItsRowsAndNoOthers) {
  const AttentionShape s{.B = 1, .H = 2, .Hk = 1, .Tq = 20, .Tk = 20, .D = 16, .Dv = 8};
  for (const std::string& format : formats) {
    PackCall call = attention_call("math.simt." + format, s, 3);
    call.text("causal", "top_left");
    call["k"].set(7 * 16 + 3, nan);
    ASSERT_EQ(call.run(), NBX_OK) << call.message;
    PackCall published = attention_call("math.published." + format, s, 3, false);
    published.text("causal", "top_left");
    published["k"].set(7 * 16 + 3, nan);
    ASSERT_EQ(published.run(), NBX_OK) << published.message;
    for (std::int64_t row = 0; row < 40; ++row) {
      const bool sees = row % 20 >= 7;
      EXPECT_EQ(std::isnan(call["lse"].get(row)), sees) << "row " << row;
      for (std::int64_t c = 0; c < 8; ++c) {
        EXPECT_EQ(std::isnan(call["o"].get(row * 8 + c)), sees) << "row " << row;
        EXPECT_EQ(published["o"].get(row * 8 + c) == 0, true) << "the scrub of every weight, row " << row;
      }
    }
  }
}

TEST(Math, ANanValueReachesTheRowsThatSeeIt) {
  const AttentionShape s{.B = 1, .H = 1, .Hk = 1, .Tq = 20, .Tk = 20, .D = 16, .Dv = 8};
  PackCall call = attention_call("math.simt.f32", s, 3);
  call.text("causal", "top_left");
  call["v"].set(7 * 8 + 2, nan);
  ASSERT_EQ(call.run(), NBX_OK) << call.message;
  for (std::int64_t row = 0; row < 20; ++row) {
    for (std::int64_t c = 0; c < 8; ++c) {
      EXPECT_EQ(std::isnan(call["o"].get(row * 8 + c)), row >= 7 && c == 2) << "row " << row << " column " << c;
    }
  }
}

TEST(Math, AFullyMaskedRowIsPlusZero) {
  for (const std::string& format : formats) {
    PackCall call = attention_call("math.simt." + format, {.H = 1, .Hk = 1, .Tq = 3, .Tk = 70, .D = 8, .Dv = 8});
    Array& bias = call.add({"bias", NBX_IN, {kDLFloat, 32, 1}, {3, 70}});
    bias.fill(0);
    for (std::int64_t j = 0; j < 70; ++j) bias.set(70 + j, -infinity);
    call["v"].set(5, nan);
    call["k"].set(5, nan);
    ASSERT_EQ(call.run(), NBX_OK) << call.message;
    for (std::int64_t c = 0; c < 8; ++c) EXPECT_EQ(call["o"].bits(8 + c), 0U);
    EXPECT_EQ(call["lse"].get(1), -infinity);
    EXPECT_TRUE(std::isnan(call["o"].get(0)));
    EXPECT_TRUE(std::isnan(call["o"].get(16)));
  }
}

TEST(Math, AnInfiniteScoreMakesItsRowNan) {
  PackCall call = attention_call("math.simt.f32", {.H = 1, .Hk = 1, .Tq = 2, .Tk = 9, .D = 1, .Dv = 2});
  call["q"].set(0, 1);
  call["q"].set(1, -1);
  call["k"].set(3, infinity);
  ASSERT_EQ(call.run(), NBX_OK) << call.message;
  EXPECT_TRUE(std::isnan(call["o"].get(0)) && std::isnan(call["lse"].get(0)));
  EXPECT_TRUE(std::isfinite(call["o"].get(2)) && std::isfinite(call["lse"].get(1)));  // a score of −inf weighs 0
}

TEST(Math, EmptyProblems) {
  PackCall no_keys = attention_call("math.simt.f32", {.H = 2, .Hk = 1, .Tq = 3, .Tk = 0, .D = 4, .Dv = 5});
  ASSERT_EQ(no_keys.run(), NBX_OK) << no_keys.message;
  for (std::int64_t i = 0; i < 30; ++i) EXPECT_EQ(no_keys["o"].bits(i), 0U);
  for (std::int64_t i = 0; i < 6; ++i) EXPECT_EQ(no_keys["lse"].get(i), -infinity);
  for (const AttentionShape& s : {AttentionShape{.B = 0, .H = 2, .Hk = 1, .Tq = 3, .Tk = 4},
                                  AttentionShape{.B = 1, .H = 0, .Hk = 0, .Tq = 3, .Tk = 4},
                                  AttentionShape{.B = 1, .H = 2, .Hk = 1, .Tq = 0, .Tk = 4}}) {
    for (const char* name : {"math.simt.f16", "chunked.simt.f16"}) {
      PackCall call = attention_call(name, s);
      EXPECT_EQ(call.run(), NBX_OK) << call.message;
    }
  }
}

TEST(Math, EqualsItselfOnExpandedKeysAndValues) {
  const AttentionShape s{.B = 2, .H = 6, .Hk = 2, .Tq = 11, .Tk = 80, .D = 33, .Dv = 20};
  PackCall grouped = attention_call("math.simt.bf16", s, 4);
  ASSERT_EQ(grouped.run(), NBX_OK);
  AttentionShape wide = s;
  wide.Hk = s.H;
  PackCall expanded = attention_call("math.simt.bf16", wide, 4);
  for (const auto& [name, size] : {std::pair<const char*, std::int64_t>{"k", 80 * 33}, {"v", 80 * 20}}) {
    for (std::int64_t head = 0; head < 12; ++head) {
      const std::int64_t from = head / 6 * 2 + head % 6 / 3;
      for (std::int64_t i = 0; i < size; ++i) {
        expanded[name].set(head * size + i, grouped[name].get(from * size + i));
      }
    }
  }
  ASSERT_EQ(expanded.run(), NBX_OK);
  EXPECT_EQ(expanded["o"].all_bits(), grouped["o"].all_bits());
  EXPECT_EQ(expanded["lse"].all_bits(), grouped["lse"].all_bits());
}

TEST(Math, StridesDoNotShow) {
  const AttentionShape s{.B = 2, .H = 2, .Hk = 1, .Tq = 9, .Tk = 70, .D = 20, .Dv = 12};
  PackCall dense = attention_call("math.simt.f16", s, 4);
  ASSERT_EQ(dense.run(), NBX_OK);
  PackCall strided("math.simt.f16");
  const DLDataType format = strided.kernel->format;
  const auto add = [&](const char* name, nbx_role role, DLDataType type, Shape shape, Shape strides) {
    Array& array = strided.add({name, role, type, std::move(shape), std::move(strides)});
    if (role != NBX_IN) return;
    for (std::int64_t i = 0; i < array.elements(); ++i) array.set(i, dense[name].get(i));
  };
  add("q", NBX_IN, format, {2, 2, 9, 20}, {360, 20, 40, 1});       // [B, T, H, D] storage
  add("k", NBX_IN, format, {2, 1, 70, 20}, {4000, 98765, 1, 90});  // transposed, a size-1 axis with any stride
  add("v", NBX_IN, format, {2, 1, 70, 12}, {5000, 7, 60, 3});      // columns apart
  add("o", NBX_OUT, format, {2, 2, 9, 12}, {1000, 1, 50, 3});      // heads innermost
  add("lse", NBX_OUT, {kDLFloat, 32, 1}, {2, 2, 9}, {1, 2, 4});    // batch innermost
  ASSERT_EQ(strided.run(), NBX_OK) << strided.message;
  EXPECT_EQ(strided["o"].all_bits(), dense["o"].all_bits());
  EXPECT_EQ(strided["lse"].all_bits(), dense["lse"].all_bits());
}

TEST(Math, DeclaresItsArithmetic) {
  PackCall call = attention_call("math.simt.bf16", {.Tk = 300});
  const nbx_arithmetic a = call.arithmetic();
  EXPECT_EQ(a.normalise, NBX_DIVIDE_WEIGHTS);
  EXPECT_EQ(a.p_format.code, kDLBfloat);
  EXPECT_EQ(a.sum_depth, 2 + 7);  // three terms in a chain, and the folds of 128 chains
  EXPECT_EQ(a.masked_value, NBX_MASKED_INERT);
  EXPECT_EQ(attention_call("math.published.f32", {.Tk = 3}, 1, false).arithmetic().masked_value, NBX_MASKED_PROPAGATES);
}

}  // namespace
}  // namespace nbx::test
