// The tile operations of a streaming softmax: folding a row, and adding a tile's part onto what was summed before.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "kernels/tile/dot.hpp"
#include "kernels/tile/load.hpp"
#include "kernels/tile/reduce.hpp"
#include "tests/kernels/one_block.hpp"

namespace nbx::test {
namespace {

using tile::CpuBlock;
using tile::Terms;
using tile::Tile;

/// The same unit without a form of its own on the CPU.
struct PlainF32 {
  static float multiply_add(float a, float b, float sum) { return tile::fma(a, b, sum); }
};

float part_of(std::vector<float> terms, int width) {
  terms.resize(static_cast<std::size_t>(width), 0.0F);
  for (int half = width / 2; half > 0; half /= 2) {
    for (int c = 0; c < half; ++c) terms[static_cast<std::size_t>(c)] += terms[static_cast<std::size_t>(c + half)];
  }
  return terms[0];
}

TEST(Fold, IsItsTreeForEveryNumberOfTerms) {
  std::mt19937 engine(1);
  for (int n = 1; n <= 64; ++n) {
    std::vector<float> terms;
    for (int i = 0; i < n; ++i)
      terms.push_back(std::ldexp(static_cast<float>(engine() % 10007), -static_cast<int>(engine() % 20)));
    const auto term = [&](int c) { return terms[static_cast<std::size_t>(c)]; };
    const float sum = tile::fold<tile::Sum, 64>(n, term);
    EXPECT_EQ(sum, part_of(terms, 64)) << n;
    if (n <= 16) {
      EXPECT_EQ((tile::fold<tile::Sum, 16>(n, term)), sum) << "a wider tree of identities has the same bits";
    }
    const auto one_nan = [&](int c) { return c == n - 1 ? std::nanf("") : term(c); };
    EXPECT_TRUE(std::isnan((tile::fold<tile::Max, 64>(n, one_nan)))) << n;
  }
  EXPECT_EQ((tile::fold<tile::Max, 64>(0, [](int) { return 1.0F; })), -std::numeric_limits<float>::infinity());
}

/// sum · factor + P·V of one tile, by the unit; rows 1 … 6 and 17 columns, so that groups are cut.
template <class Unit, Terms Which>
std::vector<float> added(nbx_order order, int rows, int depth, const std::vector<float>& p, const std::vector<float>& v,
                         const std::vector<float>& before, const std::vector<float>& factor) {
  constexpr int columns = 17;
  std::vector<float> out;
  run_block(order, [&](CpuBlock& block) {
    const Tile<float> o = block.tile<float>(rows, columns), weights = block.tile<float>(rows, depth);
    const Tile<float> values = block.tile<float>(depth, columns);
    for (int r = 0; r < rows; ++r) {
      for (int c = 0; c < columns; ++c) o(r, c) = before[static_cast<std::size_t>(r * columns + c)];
      for (int k = 0; k < depth; ++k) weights(r, k) = p[static_cast<std::size_t>(r * depth + k)];
    }
    for (int k = 0; k < depth; ++k) {
      for (int c = 0; c < columns; ++c) values(k, c) = v[static_cast<std::size_t>(k * columns + c)];
    }
    tile::dot_onto<Unit, Which>(block, o, factor.data(), weights, values, rows, columns, depth);
    for (int r = 0; r < rows; ++r) {
      for (int c = 0; c < columns; ++c) out.push_back(o(r, c));
    }
  });
  return out;
}

TEST(DotOnto, IsAChainFromZeroAndOneMoreFma) {
  std::mt19937 engine(2);
  const auto random = [&] { return std::ldexp(static_cast<float>(static_cast<int>(engine() % 20001) - 10000), -12); };
  for (const int rows : {1, 2, 3, 4, 6}) {
    const int depth = 1 + static_cast<int>(engine() % 40);
    std::vector<float> p, v, before, factor, right;
    for (int i = 0; i < rows * depth; ++i) p.push_back(engine() % 4 == 0 ? tile::no_term() : std::fabs(random()));
    for (int i = 0; i < depth * 17; ++i) v.push_back(random());
    for (int i = 0; i < rows * 17; ++i) before.push_back(random());
    // The last row group reads padding, as every group of rows has four.
    for (int i = 0; i < 8; ++i) factor.push_back(std::fabs(random()));
    for (int r = 0; r < rows; ++r) {
      for (int c = 0; c < 17; ++c) {
        float chain = 0;
        for (int k = 0; k < depth; ++k) {
          const float weight = p[static_cast<std::size_t>(r * depth + k)];
          if (tile::is_term(weight)) chain = std::fma(weight, v[static_cast<std::size_t>(k * 17 + c)], chain);
        }
        right.push_back(
            std::fma(before[static_cast<std::size_t>(r * 17 + c)], factor[static_cast<std::size_t>(r)], chain));
      }
    }
    for (const nbx_order order : orders) {
      EXPECT_EQ((added<tile::SimtF32, Terms::present>(order, rows, depth, p, v, before, factor)), right);
      EXPECT_EQ((added<tile::SimtF32, Terms::all>(order, rows, depth, p, v, before, factor)), right);
      EXPECT_EQ((added<PlainF32, Terms::present>(order, rows, depth, p, v, before, factor)), right);
    }
  }
}

}  // namespace
}  // namespace nbx::test
