// The tile layer on the CPU: orders, the trees and chains that operations state, and that a race is seen.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <random>
#include <set>
#include <vector>

#include "kernels/tile/dot.hpp"
#include "kernels/tile/load.hpp"
#include "kernels/tile/reduce.hpp"

namespace nbx::test {
namespace {

using tile::CpuBlock;
using tile::Terms;
using tile::Tile;

constexpr nbx_order orders[] = {NBX_FORWARD, NBX_REVERSE, NBX_STRIDED, NBX_SHUFFLED};
constexpr float infinity = std::numeric_limits<float>::infinity();

nbx_launch how(nbx_order blocks, nbx_order items, std::uint64_t seed = 3, std::uint32_t threads = 1) {
  nbx_launch out{};
  out.struct_size = sizeof out;
  out.block_order = blocks;
  out.item_order = items;
  out.order_seed = seed;
  out.threads = threads;
  return out;
}

float random_float(std::mt19937& engine) {
  const auto fraction = static_cast<float>(static_cast<std::int32_t>(engine()));
  return std::ldexp(fraction, static_cast<int>(engine() % 24) - 45);
}

/// Runs one block whose body is any callable.
template <class Body>
struct OneBlock {
  Body body;
  std::size_t bytes;
  std::size_t tile_bytes() const { return bytes; }
  void operator()(CpuBlock& block) const { body(block); }
};
template <class Body>
void run_block(nbx_order items, const Body& body, std::uint64_t seed = 3) {
  tile::launch(OneBlock<Body>{body, 1U << 20}, 1, how(NBX_FORWARD, items, seed));
}

TEST(Order, VisitsEveryPlaceOnce) {
  for (const nbx_order kind : orders) {
    for (const std::int64_t n : {0, 1, 2, 3, 4, 16, 17, 97, 1000, 4096}) {
      for (const std::uint64_t seed : {0U, 1U, 12345U}) {
        std::vector<std::int64_t> seen;
        tile::Order(kind, seed, n).visit([&](std::int64_t i) { seen.push_back(i); });
        std::sort(seen.begin(), seen.end());
        ASSERT_EQ(seen.size(), static_cast<std::size_t>(n));
        for (std::int64_t i = 0; i < n; ++i) ASSERT_EQ(seen[static_cast<std::size_t>(i)], i) << kind << " of " << n;
      }
    }
  }
}

TEST(Order, ShuffledTurnsPairsBothWays) {
  for (const std::int64_t other : {1, 2, 50, 99}) {
    std::set<bool> first;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      std::vector<std::int64_t> seen;
      tile::Order(NBX_SHUFFLED, seed, 100).visit([&](std::int64_t i) { seen.push_back(i); });
      first.insert(std::find(seen.begin(), seen.end(), 0) < std::find(seen.begin(), seen.end(), other));
    }
    EXPECT_EQ(first.size(), 2U) << "0 and " << other;
  }
}

TEST(Launch, RunsEveryBlockOnceInAnyOrderByAnyNumberOfThreads) {
  struct Count {
    int* runs;
    static std::size_t tile_bytes() { return 0; }
    void operator()(CpuBlock& block) const { ++runs[block.index()]; }
  };
  for (const nbx_order kind : orders) {
    for (const std::uint32_t threads : {0U, 1U, 3U, 200U}) {
      std::vector<int> runs(100);
      tile::launch(Count{runs.data()}, 100, how(kind, NBX_FORWARD, 1, threads));
      EXPECT_EQ(runs, std::vector<int>(100, 1)) << kind << ", " << threads << " threads";
    }
  }
}

/// Each item adds its left neighbour's result to its own: right in no order but one, and so a race.
std::vector<float> racing(nbx_order items) {
  std::vector<float> out(64, 1.0F);
  run_block(items, [&](CpuBlock& block) {
    float* const at = out.data();
    block.phase(64, [=](std::int64_t i) { at[i] = i == 0 ? 1.0F : at[i] + at[i - 1]; });
  });
  return out;
}

TEST(Race, BetweenItemsIsSeenInEveryOtherOrder) {
  for (const nbx_order kind : {NBX_REVERSE, NBX_STRIDED, NBX_SHUFFLED}) EXPECT_NE(racing(kind), racing(NBX_FORWARD));
}

TEST(Race, BetweenBlocksIsSeenInEveryOtherOrder) {
  struct Racing {
    float* at;
    static std::size_t tile_bytes() { return 0; }
    void operator()(CpuBlock& block) const {
      const std::int64_t i = block.index();
      at[i] = i == 0 ? 1.0F : at[i] + at[i - 1];
    }
  };
  const auto result = [](nbx_order kind) {
    std::vector<float> out(64, 1.0F);
    tile::launch(Racing{out.data()}, 64, how(kind, NBX_FORWARD));
    return out;
  };
  for (const nbx_order kind : {NBX_REVERSE, NBX_STRIDED, NBX_SHUFFLED}) EXPECT_NE(result(kind), result(NBX_FORWARD));
}

TEST(Race, AReadBeforeAWriteOfATileIsSeenInAnotherBlockOrder) {
  struct Stale {
    float* at;
    static std::size_t tile_bytes() { return tile::tile_bytes<float>(1, 1); }
    void operator()(CpuBlock& block) const {
      const Tile<float> memory = block.tile<float>(1, 1);
      at[block.index()] = memory(0, 0);
      memory(0, 0) = static_cast<float>(block.index());
    }
  };
  for (const std::int64_t blocks : {1, 8}) {  // the first block reads what the memory started with
    const auto result = [=](nbx_order kind) {
      std::vector<float> out(8);
      tile::launch(Stale{out.data()}, blocks, how(kind, NBX_FORWARD));
      return tile::bits_of(out[0]);
    };
    EXPECT_NE(result(NBX_REVERSE), result(NBX_FORWARD)) << blocks << " blocks";
  }
}

/// The tree of reduce.hpp, spelled out.
template <class Operation>
float reduced(const std::vector<float>& terms) {
  std::vector<float> chain(128, Operation::identity);
  for (std::size_t i = 0; i < terms.size(); ++i) chain[i % 128] = Operation::combine(chain[i % 128], terms[i]);
  for (std::size_t width = 64; width > 0; width /= 2) {
    for (std::size_t c = 0; c < width; ++c) chain[c] = Operation::combine(chain[c], chain[c + width]);
  }
  return chain[0];
}

template <class Operation>
std::vector<float> reduce_by_block(nbx_order items, const std::vector<std::vector<float>>& rows) {
  std::vector<float> out;
  run_block(items, [&](CpuBlock& block) {
    const auto count = static_cast<std::int64_t>(rows.size());
    const Tile<float> result = block.tile<float>(static_cast<int>(count), tile::reduce_chains);
    tile::reduce_rows<Operation>(
        block, result, count, static_cast<std::int64_t>(rows[0].size()),
        [&](std::int64_t r) { return rows[static_cast<std::size_t>(r)].data(); },
        [](const float* row, std::int64_t, std::int64_t c) { return row[c]; });
    for (int r = 0; r < static_cast<int>(count); ++r) out.push_back(result(r, 0));
  });
  return out;
}

TEST(ReduceRows, IsItsTreeInEveryOrder) {
  std::mt19937 engine(1);
  for (const std::size_t n : {1U, 2U, 3U, 63U, 127U, 128U, 129U, 256U, 1000U, 4097U}) {
    std::vector<std::vector<float>> rows(3, std::vector<float>(n));
    for (auto& row : rows) {
      for (float& x : row) x = random_float(engine);
    }
    for (const nbx_order kind : orders) {
      const auto sums = reduce_by_block<tile::Sum>(kind, rows);
      const auto maxima = reduce_by_block<tile::Max>(kind, rows);
      for (std::size_t r = 0; r < rows.size(); ++r) {
        ASSERT_EQ(tile::bits_of(sums[r]), tile::bits_of(reduced<tile::Sum>(rows[r]))) << "n = " << n << " " << kind;
        ASSERT_EQ(maxima[r], *std::max_element(rows[r].begin(), rows[r].end())) << "n = " << n << " " << kind;
      }
    }
  }
}

TEST(ReduceRows, AppendedIdentitiesChangeNoBit) {
  std::mt19937 engine(2);
  for (const std::size_t n : {1U, 50U, 128U, 333U}) {
    std::vector<float> row(n);
    for (float& x : row) x = std::fabs(random_float(engine));
    const float sum = reduce_by_block<tile::Sum>(NBX_FORWARD, {row})[0];
    const float max = reduce_by_block<tile::Max>(NBX_FORWARD, {row})[0];
    for (const std::size_t more : {1U, 64U, 127U, 500U}) {
      std::vector<float> longer = row;
      longer.resize(n + more, 0.0F);
      EXPECT_EQ(tile::bits_of(reduce_by_block<tile::Sum>(NBX_FORWARD, {longer})[0]), tile::bits_of(sum));
      longer = row;
      longer.resize(n + more, -infinity);
      EXPECT_EQ(reduce_by_block<tile::Max>(NBX_FORWARD, {longer})[0], max);
    }
  }
}

TEST(ReduceRows, MaxShowsANanWhereverItLies) {
  for (const std::size_t place : {0U, 5U, 127U, 128U, 299U}) {
    std::vector<float> row(300, 1.0F);
    row[place] = std::numeric_limits<float>::quiet_NaN();
    for (const nbx_order kind : orders) EXPECT_TRUE(std::isnan(reduce_by_block<tile::Max>(kind, {row})[0])) << place;
  }
}

TEST(ReduceRows, DepthCountsTheRoundingsOfATerm) {
  // With a first term of 2^24 an added 1 is lost; so is each that joins it alone, and the depth says how often.
  EXPECT_EQ(tile::sum_depth(0), 0);
  EXPECT_EQ(tile::sum_depth(1), 0);
  EXPECT_EQ(tile::sum_depth(2), 1);
  EXPECT_EQ(tile::sum_depth(3), 2);
  EXPECT_EQ(tile::sum_depth(128), 7);
  EXPECT_EQ(tile::sum_depth(129), 8);
  EXPECT_EQ(tile::sum_depth(256), 8);
  EXPECT_EQ(tile::sum_depth(4096), 31 + 7);
}

struct Product {
  int rows, columns, depth;
};

/// a (rows, depth), b (depth, columns), added to sum (rows, columns) in pieces of `piece` terms.
template <class Unit, Terms Which>
std::vector<float> product_by_block(nbx_order items, const Product& p, const std::vector<float>& a,
                                    const std::vector<float>& b, int piece) {
  std::vector<float> out;
  run_block(items, [&](CpuBlock& block) {
    const Tile<float> left = block.tile<float>(p.rows, piece);
    const Tile<float> right = block.tile<float>(piece, p.columns);
    const Tile<float> sum = block.tile<float>(p.rows, p.columns);
    tile::fill(block, sum, p.rows, p.columns, 0.0F);
    for (int first = 0; first < p.depth; first += piece) {
      const int depth = std::min(piece, p.depth - first);
      tile::load(block, left, p.rows, depth, 1, [&](std::int64_t r) { return a.data() + r * p.depth + first; });
      tile::load(block, right, depth, p.columns, 1, [&](std::int64_t k) { return b.data() + (first + k) * p.columns; });
      tile::dot_add<Unit, Which>(block, sum, left, right, p.rows, p.columns, depth);
    }
    for (int r = 0; r < p.rows; ++r) out.insert(out.end(), sum.row(r), sum.row(r) + p.columns);
  });
  return out;
}

constexpr Product products[] = {{1, 1, 1}, {1, 17, 9}, {2, 16, 64}, {3, 5, 33}, {4, 32, 65}, {7, 31, 20}, {9, 64, 130}};

TEST(Dot, IsOneFmaChainPerElementInRisingK) {
  std::mt19937 engine(3);
  for (const Product& p : products) {
    std::vector<float> a(static_cast<std::size_t>(p.rows * p.depth)), b(static_cast<std::size_t>(p.depth * p.columns));
    for (float& x : a) x = random_float(engine);
    for (float& x : b) x = random_float(engine);
    for (const nbx_order kind : orders) {
      for (const int piece : {p.depth, 16, 7}) {
        const auto out = product_by_block<tile::SimtF32, Terms::all>(kind, p, a, b, piece);
        for (int i = 0; i < p.rows; ++i) {
          for (int j = 0; j < p.columns; ++j) {
            float chain = 0;
            for (int k = 0; k < p.depth; ++k) {
              chain = std::fma(a[static_cast<std::size_t>(i * p.depth + k)],
                               b[static_cast<std::size_t>(k * p.columns + j)], chain);
            }
            ASSERT_EQ(tile::bits_of(out[static_cast<std::size_t>(i * p.columns + j)]), tile::bits_of(chain))
                << p.rows << "x" << p.columns << "x" << p.depth << " element " << i << ", " << j;
          }
        }
      }
    }
  }
}

/// The same unit without a form of its own on the CPU.
struct PlainF32 {
  static float multiply_add(float a, float b, float sum) { return tile::fma(a, b, sum); }
};

TEST(Dot, AbsentTermsAddNothing) {
  std::mt19937 engine(4);
  for (const Product& p : products) {
    std::vector<float> a(static_cast<std::size_t>(p.rows * p.depth)), b(static_cast<std::size_t>(p.depth * p.columns));
    for (float& x : a) x = engine() % 3 == 0 ? tile::no_term() : std::fabs(random_float(engine));
    for (float& x : b) x = random_float(engine);
    const auto settled = [](std::vector<float> sums) {
      for (float& x : sums) x = tile::settle(x);
      return sums;
    };
    // On finite values adding them and leaving them out is the same, once zeros have one sign.
    const auto left_out = settled(product_by_block<tile::SimtF32, Terms::present>(NBX_FORWARD, p, a, b, p.depth));
    EXPECT_EQ(settled(product_by_block<tile::SimtF32, Terms::all>(NBX_FORWARD, p, a, b, p.depth)), left_out);
    // Behind an absent term anything may lie.
    std::vector<float> one_row(a.begin(), a.begin() + p.depth);
    const Product single{1, p.columns, p.depth};
    for (int k = 0; k < p.depth; ++k) {
      if (tile::is_term(one_row[static_cast<std::size_t>(k)])) continue;
      for (int j = 0; j < p.columns; ++j) b[static_cast<std::size_t>(k * p.columns + j)] = j % 2 == 0 ? NAN : infinity;
    }
    const std::vector<float> right(left_out.begin(), left_out.begin() + p.columns);
    for (const nbx_order kind : orders) {
      EXPECT_EQ(settled(product_by_block<tile::SimtF32, Terms::present>(kind, single, one_row, b, p.depth)), right);
      EXPECT_EQ(settled(product_by_block<PlainF32, Terms::present>(kind, single, one_row, b, p.depth)), right);
    }
  }
}

TEST(Dot, SettledSumsHaveOneZero) {
  // −2^-200 rounds to −0; then an absent term before a value of either sign, added or left out.
  const std::vector<float> a{0x1p-100F, tile::no_term()};
  for (const float value : {1.0F, -1.0F}) {
    const std::vector<float> b{-0x1p-100F, value};
    const float added = product_by_block<tile::SimtF32, Terms::all>(NBX_FORWARD, {1, 1, 2}, a, b, 2)[0];
    const float left_out = product_by_block<tile::SimtF32, Terms::present>(NBX_FORWARD, {1, 1, 2}, a, b, 2)[0];
    EXPECT_EQ(tile::bits_of(left_out), 0x80000000U);
    EXPECT_EQ(tile::bits_of(tile::settle(added)), 0U);
    EXPECT_EQ(tile::bits_of(tile::settle(left_out)), 0U);
  }
}

TEST(Load, TransposesAndDecodes) {
  std::vector<tile::bf16> from(20 * 70);
  for (std::size_t i = 0; i < from.size(); ++i) from[i].bits = static_cast<std::uint16_t>(0x3F00 + i);
  for (const nbx_order kind : orders) {
    for (const std::int64_t step : {1, 3}) {
      run_block(kind, [&](CpuBlock& block) {
        const Tile<float> straight = block.tile<float>(20, 20), transposed = block.tile<float>(20, 20);
        const auto row = [&](std::int64_t r) { return from.data() + r * 70; };
        tile::load(block, straight, 19, 20, step, row);
        tile::load_transposed(block, transposed, 19, 20, step, row);
        for (int r = 0; r < 19; ++r) {
          for (int c = 0; c < 20; ++c) {
            const float right = tile::decode(from[static_cast<std::size_t>(r * 70 + c * step)]);
            ASSERT_EQ(straight(r, c), right);
            ASSERT_EQ(transposed(c, r), right);
          }
        }
      });
    }
  }
}

TEST(Load, FindsWhatIsNotFinite) {
  run_block(NBX_FORWARD, [](CpuBlock& block) {
    const Tile<float> t = block.tile<float>(5, 7);
    tile::fill(block, t, 5, 7, std::numeric_limits<float>::max());
    EXPECT_FALSE(tile::any_non_finite(block, t, 5, 7));
    for (const float bad : {NAN, infinity, -infinity}) {
      t(4, 6) = bad;
      EXPECT_TRUE(tile::any_non_finite(block, t, 5, 7));
      EXPECT_FALSE(tile::any_non_finite(block, t, 5, 6));
    }
  });
}

TEST(ArenaDeathTest, ABlockThatTakesTooMuchEnds) {
  EXPECT_DEATH(run_block(NBX_FORWARD, [](CpuBlock& block) { block.tile<float>(1, (1 << 20)); }),
               "takes more than its tile_bytes");
}

}  // namespace
}  // namespace nbx::test
