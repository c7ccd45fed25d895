// softmax and log-softmax: axes, strides, orders, special values, and that the looped form has the tile form's bits.
#include <cmath>
#include <limits>

#include "tests/kernels/pack_call.hpp"

namespace nbx::test {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

PackCall softmax_call(const std::string& name, const Shape& shape, std::int64_t axis = -1, const Shape& strides = {}) {
  PackCall call(name);
  call.add({"x", NBX_IN, call.kernel->format, shape, strides}).randomise(11, 4);
  call.add({"y", NBX_OUT, call.kernel->format, shape, strides});
  call.integer("axis", axis);
  return call;
}

const std::string variants[] = {"tile", "looped"};

TEST(Softmax, LooksLikeSoftmaxAlongAnyAxis) {
  for (const std::string& variant : variants) {
    for (const std::string& format : {std::string("f32"), std::string("f16"), std::string("bf16")}) {
      const double loose = format == "f32" ? 1e-6 : 5e-3;
      for (const std::int64_t axis : {0, 1, -1, -3}) {
        for (const bool log : {false, true}) {
          PackCall call = softmax_call((log ? "log_softmax." : "softmax.") + variant + "." + format, {5, 7, 300}, axis);
          ASSERT_EQ(call.run(), NBX_OK) << call.message;
          const std::int64_t sizes[] = {5, 7, 300}, steps[] = {2100, 300, 1};
          const auto along = static_cast<std::size_t>(axis < 0 ? axis + 3 : axis);
          for (std::int64_t i = 0; i < 5 * 7 * 300; ++i) {
            const std::int64_t start = i - i / steps[along] % sizes[along] * steps[along];
            double sum = 0;
            for (std::int64_t j = 0; j < sizes[along]; ++j) {
              sum += std::exp(static_cast<double>(call["x"].get(start + j * steps[along])));
            }
            const double right = call["x"].get(i) - std::log(sum);
            const double y = call["y"].get(i);
            const double error =
                log ? std::fabs(y - right) / std::fmax(1, std::fabs(right)) : std::fabs(y - std::exp(right));
            ASSERT_TRUE(error <= loose) << variant << " " << format << " axis " << axis << " y[" << i << "] = " << y;
          }
        }
      }
    }
  }
}

TEST(Softmax, LoopedHasTheBitsOfTileWhereARowIsOneTile) {
  for (const std::int64_t n : {1, 2, 63, 64, 65, 4095, 4096}) {
    for (const char* const family : {"softmax.", "log_softmax."}) {
      PackCall tile = softmax_call(std::string(family) + "tile.f32", {3, n});
      PackCall looped = softmax_call(std::string(family) + "looped.f32", {3, n});
      ASSERT_EQ(tile.run(), NBX_OK) << tile.message;
      ASSERT_EQ(looped.run(), NBX_OK) << looped.message;
      EXPECT_EQ(tile["y"].all_bits(), looped["y"].all_bits()) << family << n;
    }
  }
}

TEST(Softmax, ALongRowSumsToOne) {
  PackCall call = softmax_call("softmax.looped.f32", {2, 20000});
  for (std::int64_t i = 0; i < 20000; ++i) call["x"].set(i, static_cast<float>(i) * 1e-3F);  // the maximum keeps rising
  ASSERT_EQ(call.run(), NBX_OK) << call.message;
  for (std::int64_t row = 0; row < 2; ++row) {
    double sum = 0;
    for (std::int64_t i = 0; i < 20000; ++i) sum += call["y"].get(row * 20000 + i);
    EXPECT_TRUE(std::fabs(sum - 1) < 1e-4) << sum;
  }
  EXPECT_EQ(call.arithmetic().rescales, 4);
  EXPECT_EQ(call.arithmetic().sum_depth, 38 + 4);
}

TEST(Softmax, BitsDoNotDependOnOrderThreadsRowsOfABlockOrStrides) {
  for (const char* const name : {"softmax.tile.f16", "log_softmax.looped.f32", "log_softmax.tile.bf16"}) {
    PackCall call = softmax_call(name, {6, 5, 333}, 1);
    ASSERT_EQ(call.run(), NBX_OK) << call.message;
    const auto bits = call["y"].all_bits();
    for (const Condition& condition : conditions) {
      call.launch.block_order = condition.blocks;
      call.launch.item_order = condition.items;
      call.launch.threads = condition.threads;
      call["y"].fill(nan);
      ASSERT_EQ(call.run(), NBX_OK) << call.message;
      ASSERT_EQ(call["y"].all_bits(), bits) << name;
    }
    if (call.kernel->axis_count > 0) {
      for (const std::int64_t height : {1, 2, 7, 64}) {
        call.option("block_rows", height);
        call["y"].fill(nan);
        ASSERT_EQ(call.run(), NBX_OK) << call.message;
        ASSERT_EQ(call["y"].all_bits(), bits) << name << " block_rows " << height;
      }
    }
    for (const Shape& strides : {Shape{1, 6, 30}, Shape{5000, 700, 2}, Shape{333, 1998, 1}}) {
      PackCall strided = softmax_call(name, {6, 5, 333}, 1, strides);
      ASSERT_EQ(strided.run(), NBX_OK) << strided.message;
      ASSERT_EQ(strided["y"].all_bits(), bits) << name << " strides " << strides[0];
    }
  }
}

TEST(Softmax, InputAndOutputMayBeLaidOutDifferently) {
  PackCall dense = softmax_call("softmax.tile.f32", {4, 3, 50});
  ASSERT_EQ(dense.run(), NBX_OK) << dense.message;
  const Shape apart{1000, 70, 1};
  for (const bool input : {true, false}) {
    PackCall call("softmax.tile.f32");
    Array& x = call.add({"x", NBX_IN, call.kernel->format, {4, 3, 50}, input ? apart : Shape{}});
    for (std::int64_t i = 0; i < x.elements(); ++i) x.set(i, dense["x"].get(i));
    call.add({"y", NBX_OUT, call.kernel->format, {4, 3, 50}, input ? Shape{} : apart});
    ASSERT_EQ(call.run(), NBX_OK) << call.message;
    EXPECT_EQ(call["y"].all_bits(), dense["y"].all_bits()) << (input ? "x" : "y") << " strided";
  }
}

TEST(Softmax, SpecialValues) {
  for (const std::string& variant : variants) {
    for (const std::int64_t n : {70, 4096, 9000}) {
      if (variant == "tile" && n > 4096) continue;
      PackCall call = softmax_call("softmax." + variant + ".f32", {5, n});
      for (std::int64_t i = 0; i < n; ++i) {
        call["x"].set(i, -infinity);                     // row 0: −inf alone
        if (i < n - 1) call["x"].set(n + i, -infinity);  // row 1: −inf but for the last
      }
      call["x"].set(2 * n + 3, nan);
      call["x"].set(3 * n + n - 1, infinity);
      ASSERT_EQ(call.run(), NBX_OK) << call.message;
      for (std::int64_t i = 0; i < n; ++i) {
        ASSERT_TRUE(std::isnan(call["y"].get(i)));
        ASSERT_EQ(call["y"].get(n + i), i == n - 1 ? 1.0F : 0.0F) << variant << " " << n;
        ASSERT_TRUE(std::isnan(call["y"].get(2 * n + i)));
        ASSERT_TRUE(std::isnan(call["y"].get(3 * n + i)));
        ASSERT_TRUE(std::isfinite(call["y"].get(4 * n + i)));
      }
    }
  }
}

TEST(Softmax, NothingToDo) {
  PackCall call = softmax_call("softmax.tile.f32", {0, 8});
  EXPECT_EQ(call.run(), NBX_OK) << call.message;
}

}  // namespace
}  // namespace nbx::test
