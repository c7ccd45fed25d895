// Keys and values that stream past a block (tile/stream.hpp): every bit against a plain loop written from its order.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "kernels/tile/stream.hpp"
#include "tests/kernels/one_block.hpp"

namespace nbx::test {
namespace {

using tile::CpuBlock;
using tile::Tile;

constexpr float infinity = std::numeric_limits<float>::infinity();

/// The same number, or NaN both.
void expect_same(const std::vector<float>& actual, const std::vector<float>& right) {
  ASSERT_EQ(actual.size(), right.size());
  for (std::size_t i = 0; i < right.size(); ++i) {
    if (std::isnan(right[i]))
      EXPECT_TRUE(std::isnan(actual[i])) << i;
    else
      EXPECT_EQ(tile::bits_of(actual[i]), tile::bits_of(right[i])) << i << ": " << actual[i] << ", " << right[i];
  }
}

/// (rows, columns) of T, elements `step` apart and rows `columns · step + 3` apart.
template <class T>
struct Matrix {
  int rows, columns;
  std::int64_t step;
  std::vector<T> storage{};

  Matrix(int rows_, int columns_, std::int64_t step_, std::mt19937& engine)
      : rows(rows_), columns(columns_), step(step_) {
    storage.resize(static_cast<std::size_t>(rows * between()));
    // Sums that round in every order differently, and now and then a product below the smallest subnormal.
    for (T& x : storage) {
      const float number =
          std::ldexp(static_cast<float>(static_cast<int>(engine() % 20001) - 10000), -static_cast<int>(engine() % 24));
      x = tile::encode<T>(engine() % 50 == 0 ? std::copysign(0x1p-130F, number) : number);
    }
  }
  std::int64_t between() const { return columns * step + 3; }
  const T* row(std::int64_t r) const { return storage.data() + r * between(); }
  float at(int r, int c) const { return tile::decode(row(r)[c * step]); }
  void set(int r, int c, float x) { storage[static_cast<std::size_t>(r * between() + c * step)] = tile::encode<T>(x); }
};

/// 32 chains, neighbours within each four twice, then the eight in halves.
template <class T>
float score_of(const Matrix<T>& q, const Matrix<T>& k, int g, int j) {
  std::vector<float> chain(32, 0.0F);
  for (int d = 0; d < q.columns; ++d) {
    float& c = chain[static_cast<std::size_t>(d / 8 % 8 * 4 + d % 4)];
    c = std::fma(q.at(g, d), k.at(j, d), c);
  }
  for (int round = 0; round < 2; ++round) {
    std::vector<float> half;
    for (std::size_t i = 0; i < chain.size(); i += 2) half.push_back(chain[i] + chain[i + 1]);
    chain = half;
  }
  for (std::size_t width = 4; width > 0; width /= 2)
    for (std::size_t i = 0; i < width; ++i) chain[i] += chain[i + width];
  return chain[0];
}

template <class T>
void look_at_scores(int heads, int keys, int depth, std::int64_t step, bool special) {
  std::mt19937 engine(static_cast<unsigned>(heads * 1000 + keys * 10 + depth));
  Matrix<T> q(heads, depth, 1, engine), k(keys, depth, step, engine);
  if (special) {
    q.set(0, depth - 1, std::nanf(""));
    k.set(keys - 1, 0, -infinity);
  }
  std::vector<float> right;
  for (int g = 0; g < heads; ++g)
    for (int j = 0; j < keys; ++j) right.push_back(score_of(q, k, g, j));
  for (const nbx_order order : orders) {
    std::vector<float> actual;
    run_block(order, [&](CpuBlock& block) {
      const int filled = tile::padded(depth, tile::score_strip);
      const Tile<float> queries = block.tile<float>(heads, filled), out = block.tile<float>(heads, keys);
      for (int g = 0; g < heads; ++g)
        for (int d = 0; d < filled; ++d) queries(g, tile::score_column(d)) = d < depth ? q.at(g, d) : 0.0F;
      tile::key_scores(block, out, queries, heads, keys, depth, step, [&](std::int64_t j) { return k.row(j); });
      for (int g = 0; g < heads; ++g)
        for (int j = 0; j < keys; ++j) actual.push_back(out(g, j));
    });
    SCOPED_TRACE(::testing::Message() << heads << " heads, " << keys << " keys, depth " << depth << ", step " << step);
    expect_same(actual, right);
  }
}

TEST(KeyScores, AreChainsFoldedByTheStatedTree) {
  for (const int depth : {1, 7, 8, 9, 32, 64, 120, 127, 128, 129, 255, 256, 300, 512}) {
    look_at_scores<float>(3, 5, depth, 1, false);
    look_at_scores<tile::f16>(2, 3, depth, 1, false);
    look_at_scores<tile::bf16>(1, 4, depth, 2, false);
    look_at_scores<float>(2, 3, depth, 3, true);
  }
}

/// Eight chains by position, folded in halves; no weight of -0.
template <class T>
float value_of(const std::vector<float>& weights, const Matrix<T>& v, int keys, int g, int column) {
  float chain[8] = {};
  for (int j = 0; j < keys; ++j) {
    const float weight = weights[static_cast<std::size_t>(g * keys + j)];
    if (tile::is_term(weight)) chain[j % 8] = std::fma(weight, v.at(j, column), chain[j % 8]);
  }
  for (int width = 4; width > 0; width /= 2)
    for (int c = 0; c < width; ++c) chain[c] += chain[c + width];
  return chain[0];
}

template <class T>
void look_at_values(int heads, int keys, int columns, std::int64_t step) {
  std::mt19937 engine(static_cast<unsigned>(heads * 1000 + keys * 10 + columns));
  Matrix<T> v(keys, columns, step, engine);
  std::vector<float> weights;
  for (int i = 0; i < heads * keys; ++i)
    weights.push_back(engine() % 5 == 0 ? tile::no_term() : std::ldexp(static_cast<float>(engine() % 1000), -9));
  // A NaN behind a weight of -0 shows nowhere, and one behind +0 does.
  if (keys > 2) {
    for (int g = 0; g < heads; ++g) weights[static_cast<std::size_t>(g * keys)] = tile::no_term();
    for (int c = 0; c < columns; ++c) v.set(0, c, std::nanf(""));
    weights[1] = 0.0F;
    v.set(1, 0, infinity);
  }
  std::vector<float> right;
  for (int g = 0; g < heads; ++g)
    for (int c = 0; c < columns; ++c) right.push_back(value_of(weights, v, keys, g, c));
  for (const nbx_order order : orders) {
    std::vector<float> actual(right.size());
    run_block(order, [&](CpuBlock& block) {
      const Tile<float> scratch = block.tile<float>(4 * heads, columns), tile = block.tile<float>(heads, keys);
      for (int g = 0; g < heads; ++g)
        for (int j = 0; j < keys; ++j) tile(g, j) = weights[static_cast<std::size_t>(g * keys + j)];
      tile::weighted_values(
          block, scratch, tile, heads, keys, columns, step, [&](std::int64_t j) { return v.row(j); },
          [&](int g, int c, float sum) { actual[static_cast<std::size_t>(g * columns + c)] = sum; });
    });
    SCOPED_TRACE(::testing::Message() << heads << " heads, " << keys << " keys, " << columns << " columns");
    expect_same(actual, right);
  }
}

TEST(WeightedValues, AreEightChainsByPosition) {
  for (const int columns : {1, 7, 8, 9, 31, 32, 33, 40, 64, 80, 129})
    for (const int keys : {1, 2, 7, 8, 9, 37, 64}) {
      look_at_values<float>(1, keys, columns, 1);
      look_at_values<tile::f16>(2, keys, columns, 1);
      look_at_values<tile::bf16>(3, keys, columns, 1);
      look_at_values<float>(5, keys, columns, 2);
    }
}

}  // namespace
}  // namespace nbx::test
