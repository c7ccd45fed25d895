// The models of matrix units: time per instruction's tile on one core, inside products as large as a flash tile. One
// instruction is 16 rows, 8 columns and the unit's own k.
#include <benchmark/benchmark.h>

#include <cmath>
#include <random>
#include <vector>

#include "kernels/unit/product.hpp"

namespace {

using namespace nbx::unit;

template <class Unit>
void product(benchmark::State& state) {
  constexpr int rows = 64, columns = 64, depth = 128;
  std::mt19937 random(1);
  const auto number = [&] { return std::ldexp(static_cast<float>(random() % 256) - 127.5F, -8); };
  std::vector<float> a(rows * depth), b(depth * columns), c(rows * columns, 0.0F);
  for (float& x : a) x = number();
  for (float& x : b) x = number();
  const Matrices matrices{a.data(), b.data(), c.data(), depth, columns, columns, rows, columns, depth};
  for (auto _ : state) {
    if constexpr (requires { Unit::format; }) {
      multiply(matrices, Unit::known(imitated()).group, Unit{});
    } else {
      multiply(matrices, Unit{});
    }
    benchmark::DoNotOptimize(c.data());
  }
  constexpr double tiles = (rows / 16.0) * (columns / 8.0) * (depth / static_cast<double>(Unit::k));
  state.counters["seconds_per_16x8xk_tile"] =
      benchmark::Counter(tiles, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

BENCHMARK(product<M16N8K16F16>);
BENCHMARK(product<M16N8K16BF16>);
BENCHMARK(product<M16N8K8TF32>);
BENCHMARK(product<M16N8K32E4M3>);
BENCHMARK(product<WgmmaE4M3>);
BENCHMARK(product<M8N8K4F16>);

}  // namespace

BENCHMARK_MAIN();
