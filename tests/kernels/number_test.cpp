// The storage formats against a second derivation: values from the definition in double, encoding by search among them.
#include "kernels/tile/number.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "function_hash.hpp"

namespace nbx::tests {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

/// A format as its standard writes it, not as number.hpp does.
struct Definition {
  int exponent_bits;
  int fraction_bits;
  int bias;
  bool ieee_specials;  // the top exponent holds Inf and NaN; else one NaN alone
};

template <class Format>
constexpr Definition definition = {};
template <>
constexpr Definition definition<tile::f16> = {5, 10, 15, true};
template <>
constexpr Definition definition<tile::bf16> = {8, 7, 127, true};
template <>
constexpr Definition definition<tile::e4m3> = {4, 3, 7, false};
template <>
constexpr Definition definition<tile::e5m2> = {5, 2, 15, true};

double defined_value(const Definition& format, unsigned code) {
  const unsigned fraction = code & ((1U << format.fraction_bits) - 1U);
  const unsigned top = (1U << format.exponent_bits) - 1U;
  const unsigned exponent = (code >> format.fraction_bits) & top;
  const double sign = (code >> (format.exponent_bits + format.fraction_bits)) != 0 ? -1 : 1;
  if (exponent == top && format.ieee_specials) {
    return fraction == 0 ? sign * std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  }
  if (exponent == top && fraction == (1U << format.fraction_bits) - 1U) return std::numeric_limits<double>::quiet_NaN();
  const double significand = fraction * std::ldexp(1.0, -format.fraction_bits) + (exponent == 0 ? 0 : 1);
  return sign * std::ldexp(significand, std::max(static_cast<int>(exponent), 1) - format.bias);
}

template <class Format>
class NumberFormat : public testing::Test {
 protected:
  static constexpr Definition format = definition<Format>;
  static constexpr unsigned sign = 1U << (format.exponent_bits + format.fraction_bits);

  void SetUp() override {
    for (unsigned code = 0; code < sign && std::isfinite(defined_value(format, code)); ++code) {
      finite.push_back(defined_value(format, code));
    }
    ASSERT_TRUE(std::is_sorted(finite.begin(), finite.end()));
  }

  /// Nearest of the finite values, ties to the even code; beyond the largest: the largest.
  unsigned nearest(float x) const {
    const double magnitude = std::abs(static_cast<double>(x));
    const unsigned negative = std::signbit(x) ? sign : 0U;
    const auto above = std::lower_bound(finite.begin(), finite.end(), magnitude);
    if (above == finite.end()) return negative | static_cast<unsigned>(finite.size() - 1);
    if (above == finite.begin()) return negative;
    const unsigned upper = static_cast<unsigned>(above - finite.begin());
    const double to_upper = *above - magnitude;
    const double to_lower = magnitude - *(above - 1);
    const bool up = to_upper < to_lower || (to_upper == to_lower && upper % 2 == 0);
    return negative | (up ? upper : upper - 1);
  }

  void expect_encoded(float x) const {
    ASSERT_EQ(tile::encode<Format>(x).bits, nearest(x)) << std::hexfloat << static_cast<double>(x);
    ASSERT_EQ(tile::encode<Format>(-x).bits, nearest(-x)) << std::hexfloat << -static_cast<double>(x);
  }

  void expect_encoded_around(double value) const {
    const float x = static_cast<float>(value);
    ASSERT_EQ(x, value);  // neighbours' middles have few bits
    expect_encoded(x);
    expect_encoded(std::nextafterf(x, infinity));
    if (x > 0) expect_encoded(std::nextafterf(x, -infinity));
  }

  std::vector<double> finite;  // by code
};

using Formats = testing::Types<tile::f16, tile::bf16, tile::e4m3, tile::e5m2>;

class FormatName {
 public:
  template <class Format>
  static std::string GetName(int) {
    if constexpr (std::is_same_v<Format, tile::f16>) return "f16";
    if constexpr (std::is_same_v<Format, tile::bf16>) return "bf16";
    if constexpr (std::is_same_v<Format, tile::e4m3>) return "e4m3";
    if constexpr (std::is_same_v<Format, tile::e5m2>) return "e5m2";
  }
};

TYPED_TEST_SUITE(NumberFormat, Formats, FormatName);

TYPED_TEST(NumberFormat, DecodesEveryCode) {
  for (unsigned code = 0; code < 2 * this->sign; ++code) {
    const double expected = defined_value(this->format, code);
    const float actual = tile::decode(TypeParam{static_cast<typename TypeParam::Bits>(code)});
    if (std::isnan(expected)) {
      ASSERT_EQ(tile::bits_of(actual), tile::canonical_nan_bits) << code;
    } else {
      ASSERT_EQ(static_cast<double>(actual), expected) << code;
      ASSERT_EQ(std::signbit(actual), std::signbit(expected)) << code;
    }
  }
}

TYPED_TEST(NumberFormat, EncodesWhatItDecodes) {
  for (unsigned code = 0; code < 2 * this->sign; ++code) {
    if (std::isnan(defined_value(this->format, code))) continue;
    ASSERT_EQ(tile::encode<TypeParam>(tile::decode(TypeParam{static_cast<typename TypeParam::Bits>(code)})).bits, code);
  }
}

TYPED_TEST(NumberFormat, EncodesAroundEveryValueAndEveryMiddle) {
  for (std::size_t code = 0; code < this->finite.size(); ++code) {
    this->expect_encoded_around(this->finite[code]);
    if (code > 0) this->expect_encoded_around((this->finite[code - 1] + this->finite[code]) / 2);
    if (this->HasFatalFailure()) return;
  }
}

TYPED_TEST(NumberFormat, EncodesSampledFloats) {
  constexpr std::uint32_t step = 1009;
  for (std::uint32_t bits = 0; bits < tile::infinity_bits && !this->HasFatalFailure(); bits += step) {
    this->expect_encoded(tile::float_of(bits));
  }
  this->expect_encoded(std::numeric_limits<float>::max());
}

TYPED_TEST(NumberFormat, SaturatesFiniteValuesAndKeepsTheRest) {
  const unsigned largest = static_cast<unsigned>(this->finite.size() - 1);
  const unsigned infinite = this->format.ieee_specials ? largest + 1 : largest;
  const unsigned nan = this->sign - 1;
  EXPECT_EQ(tile::encode<TypeParam>(std::numeric_limits<float>::max()).bits, largest);
  EXPECT_EQ(tile::encode<TypeParam>(-std::numeric_limits<float>::max()).bits, largest | this->sign);
  EXPECT_EQ(tile::encode<TypeParam>(infinity).bits, infinite);
  EXPECT_EQ(tile::encode<TypeParam>(-infinity).bits, infinite | this->sign);
  for (const std::uint32_t bits : {0x7F800001U, 0x7FC00000U, 0x7FFFFFFFU, 0xFF800001U, 0xFFFFFFFFU}) {
    EXPECT_EQ(tile::encode<TypeParam>(tile::float_of(bits)).bits, nan);
  }
}

TYPED_TEST(NumberFormat, HasItsUnitRoundoff) {
  EXPECT_EQ(tile::unit_roundoff<TypeParam>(), std::ldexp(1.0F, -1 - this->format.fraction_bits));
}

// From the standards' own tables, not from this file's definitions.
TEST(NumberFormats, HaveTheirPublishedConstants) {
  EXPECT_EQ(tile::decode(tile::f16{0x7BFF}), 65504.0F);
  EXPECT_EQ(tile::decode(tile::f16{0x0001}), 0x1p-24F);
  EXPECT_EQ(tile::decode(tile::f16{0x3555}), 0.333251953125F);
  EXPECT_EQ(tile::decode(tile::bf16{0x7F7F}), 0x1.fep127F);
  EXPECT_EQ(tile::decode(tile::bf16{0x0001}), 0x1p-133F);
  EXPECT_EQ(tile::decode(tile::bf16{0x4049}), 3.140625F);
  EXPECT_EQ(tile::decode(tile::e4m3{0x7E}), 448.0F);
  EXPECT_EQ(tile::decode(tile::e4m3{0x01}), 0x1p-9F);
  EXPECT_EQ(tile::decode(tile::e5m2{0x7B}), 57344.0F);
  EXPECT_EQ(tile::decode(tile::e5m2{0x01}), 0x1p-16F);
  EXPECT_EQ(tile::encode<tile::f16>(65520.0F).bits, 0x7BFF);
  EXPECT_EQ(tile::encode<tile::e4m3>(465.0F).bits, 0x7E);
}

TEST(NumberFormats, LeaveFloatAlone) {
  EXPECT_EQ(tile::bits_of(tile::encode<float>(-0.0F)), 0x80000000U);
  EXPECT_EQ(tile::decode(0x1p-149F), 0x1p-149F);
  EXPECT_EQ(tile::unit_roundoff<float>(), 0x1p-24F);
}

}  // namespace
}  // namespace nbx::tests
