// fp32 operands in two parts of f16: what the parts leave, what products are off by, and what sets a scale.
#include "kernels/unit/split.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace nbx::test {
namespace {

using unit::Split;

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float largest = std::numeric_limits<float>::max();
constexpr float smallest = std::numeric_limits<float>::denorm_min();

double value(float x) { return static_cast<double>(x); }

TEST(Split, TheLargestComesBelowTwoToThe15AndScalesAreClamped) {
  for (const float x : {1.0F, 1.99F, 3e-20F, 7e19F, largest, 0x1p-111F, 0x1p-112F}) {
    const double scaled = std::ldexp(value(x), Split::exponent(x));
    EXPECT_GE(scaled, 0x1p14) << x;
    EXPECT_LT(scaled, 0x1p15) << x;
  }
  EXPECT_EQ(Split::exponent(0.0F), 0);
  for (const float x : {0x1p-113F, std::numeric_limits<float>::min(), smallest}) EXPECT_EQ(Split::exponent(x), 126);
}

TEST(Split, PartsLeaveTwoToTheMinus23OrTwoToTheMinus36) {
  std::mt19937 random(3);
  double worst = 0;
  for (int i = 0; i < 2'000'000; ++i) {
    const float y = std::ldexp(static_cast<float>(random() & 0xFFFFFFU), -9 - static_cast<int>(random() % 60));
    if (!(y < 0x1p15F)) continue;
    const float high = Split::high(y), low = Split::low(y, high);
    const double left = std::fabs(value(y) - (value(high) + std::ldexp(value(low), -11)));
    ASSERT_LE(left, std::fmax(0x1p-23 * value(y), 0x1p-36)) << y;
    ASSERT_LE(std::ldexp(std::fabs(value(low)), -11), std::fmax(0x1p-11 * (1 + 0x1p-11) * value(y), 0x1p-25)) << y;
    worst = std::fmax(worst, left / std::fmax(0x1p-23 * value(y), 0x1p-36));
  }
  EXPECT_GT(worst, 0.9) << "the stated rest is loose";
}

struct Product {
  int rows, columns, depth;
  std::vector<float> a, b, c;

  Product(int m, int n, int k) : rows(m), columns(n), depth(k), a(m * k), b(k * n), c(m * n) {}
  template <bool present = false>
  void run() {
    unit::multiply_split<Split, present>({a.data(), b.data(), c.data(), depth, columns, columns, rows, columns, depth});
  }
};

/// Every line at a scale of its own, over the whole range of fp32; some are zeros.
Product spread(std::mt19937& random, int m, int n, int k) {
  std::normal_distribution<float> normal;
  Product product(m, n, k);
  for (int r = 0; r < m; ++r) {
    const int by = r % 5 == 3 ? -1000 : static_cast<int>(random() % 120) - 60;
    for (int d = 0; d < k; ++d) product.a[r * k + d] = std::ldexp(normal(random), by);
  }
  for (int c = 0; c < n; ++c) {
    const int by = c % 7 == 2 ? -1000 : static_cast<int>(random() % 100) - 50;
    for (int d = 0; d < k; ++d) product.b[d * n + c] = std::ldexp(normal(random), by);
  }
  return product;
}

TEST(Split, ProductsAreRightToTheRoundingsOfFp32WhateverTheScales) {
  std::mt19937 random(5);
  for (const auto& [m, n, k] : {std::tuple{1, 1, 1}, {3, 5, 7}, {17, 64, 33}, {70, 40, 128}, {5, 64, 300}}) {
    Product product = spread(random, m, n, k);
    product.run();
    for (int r = 0; r < m; ++r) {
      for (int c = 0; c < n; ++c) {
        double exact = 0, sizes = 0;
        for (int d = 0; d < k; ++d) {
          const double term = value(product.a[r * k + d]) * value(product.b[d * n + c]);
          exact += term, sizes += std::fabs(term);
        }
        // 2^-21 of parts and lo · lo; chains of 32 add 12 times, then one addition for each.
        const double bound = sizes * (0x1p-21 + (14.0 + (k + 31) / 32) * 0x1p-24) * 1.01 + 0x1p-149;
        ASSERT_NEAR(product.c[r * n + c], exact, bound) << m << " " << n << " " << k << " " << r << " " << c;
      }
    }
  }
}

TEST(Split, APowerOfTwoOfALineIsOneOfItsProducts) {
  std::mt19937 random(6);
  Product one = spread(random, 8, 8, 40), other = one;
  for (int d = 0; d < 40; ++d) other.a[2 * 40 + d] *= 0x1p30F, other.b[d * 8 + 4] *= 0x1p-20F;
  one.run(), other.run();
  for (int r = 0; r < 8; ++r) {
    for (int c = 0; c < 8; ++c) {
      const float by = (r == 2 ? 0x1p30F : 1.0F) * (c == 4 ? 0x1p-20F : 1.0F);
      EXPECT_EQ(other.c[r * 8 + c], one.c[r * 8 + c] * by) << r << " " << c;
    }
  }
}

TEST(Split, WhatIsNoTermOrNotFiniteSetsNoScaleAndIsNotRead) {
  std::mt19937 random(7);
  Product one = spread(random, 2, 16, 20);
  for (int r = 0; r < 2; ++r) one.a[r * 20 + 9] = tile::no_term();
  for (int c = 0; c < 16; ++c) one.b[9 * 16 + c] = 0.0F;
  Product other = one;
  for (int c = 0; c < 16; ++c) other.b[9 * 16 + c] = c % 2 ? largest : infinity;
  one.run<true>(), other.run<true>();
  EXPECT_EQ(other.c, one.c);
  Product special = one;
  std::fill(special.c.begin(), special.c.end(), 0.0F);
  for (int c = 0; c < 16; ++c) special.b[3 * 16 + c] = c % 2 ? infinity : std::nanf("");
  Product zeros = special;
  for (int c = 0; c < 16; ++c) zeros.b[3 * 16 + c] = 0.0F;
  special.run(), zeros.run();
  EXPECT_EQ(special.c, zeros.c);
}

}  // namespace
}  // namespace nbx::test
