#include "oracle/format.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

#include "oracle/plain.hpp"
#include "oracle/view.hpp"
#include "problems.hpp"

namespace nbx::oracle::testing {
namespace {

/// Equal as bits, where every NaN is one value.
bool same(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

class EveryPattern : public ::testing::TestWithParam<Format> {};

TEST_P(EveryPattern, DecodesAsCountingDoes) {
  const Format format = GetParam();
  const std::uint32_t patterns = 1u << (8 * traits(format).bytes);
  std::uint32_t checked = 0;
  for (std::uint32_t bits = 0; bits < patterns; ++bits, ++checked) {
    ASSERT_TRUE(same(decode(format, bits), plain_decode(format, bits))) << "pattern " << bits;
  }
  EXPECT_EQ(checked, patterns);
}

TEST_P(EveryPattern, EncodesToItself) {
  const Format format = GetParam();
  const std::uint32_t patterns = 1u << (8 * traits(format).bytes);
  for (std::uint32_t bits = 0; bits < patterns; ++bits) {
    const double value = decode(format, bits);
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(narrow(format, value))) << "pattern " << bits;
    } else {
      ASSERT_EQ(encode(format, value), bits);
    }
  }
}

/// Between each two neighbours: just below the midpoint, on it (to even), just above.
TEST_P(EveryPattern, RoundsToNearestEven) {
  const Format format = GetParam();
  const std::uint32_t half = 1u << (8 * traits(format).bytes - 1);
  int checked = 0;
  for (std::uint32_t bits = 0; bits + 1 < half; ++bits) {
    const double low = decode(format, bits), high = decode(format, bits + 1);
    if (!std::isfinite(low) || !std::isfinite(high)) continue;
    const double middle = (low + high) / 2;  // exact: one bit more than the format has
    for (const double sign : {1.0, -1.0}) {
      ASSERT_EQ(narrow(format, sign * std::nextafter(middle, low)), sign * low);
      ASSERT_EQ(narrow(format, sign * middle), sign * (bits % 2 == 0 ? low : high));
      ASSERT_EQ(narrow(format, sign * std::nextafter(middle, high)), sign * high);
    }
    ASSERT_LE(middle - low, half_ulp(format, middle) * (1 + 1e-15));
    ASSERT_GE(middle - low, half_ulp(format, low) * (1 - 1e-15));
    ++checked;
  }
  EXPECT_GT(checked, 100);
}

INSTANTIATE_TEST_SUITE_P(Formats, EveryPattern,
                         ::testing::Values(Format::f16, Format::bf16, Format::e4m3, Format::e5m2));

TEST(Format, DecodesF32AsTheHostDoes) {
  std::mt19937_64 random(7);
  const auto check = [](std::uint32_t bits) {
    ASSERT_TRUE(same(decode(Format::f32, bits), static_cast<double>(std::bit_cast<float>(bits)))) << bits;
    ASSERT_TRUE(same(decode(Format::f32, bits), plain_decode(Format::f32, bits))) << bits;
  };
  for (int i = 0; i < 200'000; ++i) check(static_cast<std::uint32_t>(random()));
  for (std::uint32_t sign : {0u, 1u}) {
    for (std::uint32_t exponent = 0; exponent < 256; ++exponent) {
      for (std::uint32_t mantissa : {0u, 1u, 2u, 0x3FFFFFu, 0x400000u, 0x7FFFFEu, 0x7FFFFFu}) {
        check(sign << 31 | exponent << 23 | mantissa);
      }
    }
  }
}

TEST(Format, RoundsF32AsTheHostDoes) {
  std::mt19937_64 random(8);
  int finite = 0;
  for (int i = 0; i < 1'000'000; ++i) {
    const auto value = std::bit_cast<double>(random() % (std::uint64_t{1} << 59) + (std::uint64_t{0x34} << 56));
    const auto host = static_cast<float>(value);
    if (!std::isfinite(host)) continue;  // the host overflows where the format saturates
    ++finite;
    ASSERT_EQ(encode(Format::f32, value), std::bit_cast<std::uint32_t>(host)) << value;
  }
  EXPECT_GT(finite, 300'000);
}

TEST(Format, Tf32IsF32WithTenMantissaBits) {
  std::mt19937_64 random(9);
  for (int i = 0; i < 100'000; ++i) {
    const auto bits = static_cast<std::uint32_t>(random());
    ASSERT_TRUE(same(decode(Format::tf32, bits), plain_decode(Format::tf32, bits)));
    if (std::isfinite(decode(Format::tf32, bits))) {
      ASSERT_EQ(decode(Format::tf32, bits), static_cast<double>(std::bit_cast<float>(bits & 0xFFFFE000u)));
    }
  }
}

TEST(Format, SaturatesFiniteValuesAndKeepsInfinity) {
  for (const Format format : {Format::f32, Format::f16, Format::bf16, Format::tf32, Format::e5m2, Format::e4m3}) {
    const double most = largest_finite(format);
    EXPECT_EQ(narrow(format, most * 1.5), most);
    EXPECT_EQ(narrow(format, -1e300), -most);
    EXPECT_EQ(narrow(format, INFINITY), format == Format::e4m3 ? most : INFINITY);
    EXPECT_TRUE(std::isnan(narrow(format, NAN)));
    EXPECT_TRUE(std::signbit(narrow(format, -0.0)));
    EXPECT_EQ(narrow(format, quantum(format)), quantum(format));
    EXPECT_EQ(narrow(format, quantum(format) / 2), 0);
  }
  EXPECT_EQ(largest_finite(Format::f16), 65504);
  EXPECT_EQ(largest_finite(Format::e4m3), 448);
  EXPECT_EQ(largest_finite(Format::e5m2), 57344);
  EXPECT_EQ(largest_finite(Format::f32), static_cast<double>(std::numeric_limits<float>::max()));
  EXPECT_EQ(quantum(Format::f32), 0x1p-149);
  EXPECT_EQ(smallest_normal(Format::f16), 0x1p-14);
  EXPECT_EQ(unit_roundoff(Format::bf16), 0x1p-8);
}

TEST(View, ReadsWhatAtReads) {
  std::mt19937_64 random(10);
  for (const Format format : {Format::f32, Format::f16, Format::bf16, Format::tf32, Format::e4m3, Format::e5m2}) {
    Tensor tensor(format, {7, 11});
    for (std::int64_t i = 0; i < tensor.size(); ++i) tensor.set_bits(i, static_cast<std::uint32_t>(random()));
    std::vector<double> values(60);
    tensor.view().read(13, values);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::int64_t at = static_cast<std::int64_t>(i) + 13;
      EXPECT_TRUE(same(values[i], plain_decode(format, tensor.view().bits(at))));
      EXPECT_TRUE(same(values[i], tensor.at(at)));
    }
  }
}

}  // namespace
}  // namespace nbx::oracle::testing
