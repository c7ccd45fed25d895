// How fast the certified reference is: beside plain double attention with Eigen in the same process, and beside 256-bit
// arithmetic (MPFR through Boost), which is timed per fused multiply-add and per exp and counted up, as a whole problem
// of this size would take it hours.
//
//   bench_oracle                         all of it; the last lines give the ratios
//   bench_oracle --benchmark_filter=...  as Google Benchmark has it
#include <benchmark/benchmark.h>

#include <boost/multiprecision/mpfr.hpp>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "oracle/reference.hpp"
#include "plain_double.hpp"

namespace {

using namespace nbx;
using oracle::Arithmetic;
using Wide = boost::multiprecision::number<boost::multiprecision::mpfr_float_backend<77>,  // 256 bits
                                           boost::multiprecision::et_off>;

struct Problem {
  std::int64_t H, Tq, Tk, D;
  std::vector<float> q, k, v;
  oracle::AttentionInput input;

  Problem(std::int64_t heads, std::int64_t rows, std::int64_t keys, std::int64_t dim)
      : H(heads), Tq(rows), Tk(keys), D(dim), q(H * Tq * D), k(H * Tk * D), v(H * Tk * D) {
    std::mt19937_64 random(1);
    std::normal_distribution<float> normal;
    for (auto* tensor : {&q, &k, &v}) {
      for (float& x : *tensor) x = normal(random);
    }
    input.q = {std::as_bytes(std::span(q)), oracle::Format::f32, {1, H, Tq, D}};
    input.k = {std::as_bytes(std::span(k)), oracle::Format::f32, {1, H, Tk, D}};
    input.v = {std::as_bytes(std::span(v)), oracle::Format::f32, {1, H, Tk, D}};
  }
};

std::vector<Arithmetic> arithmetics(std::int64_t count, std::int64_t keys) {
  std::vector<Arithmetic> list(count);
  for (std::size_t i = 0; i < list.size(); ++i) {
    list[i].sum_depth = keys;
    list[i].rescales = static_cast<std::int64_t>(i);
  }
  return list;
}

void certified(benchmark::State& state) {
  const Problem problem(state.range(0), state.range(1), state.range(2), state.range(3));
  const std::vector<Arithmetic> list = arithmetics(state.range(4), problem.Tk);
  for (auto _ : state) benchmark::DoNotOptimize(oracle::evaluate(problem.input, list));
}

void plain_double(benchmark::State& state) {
  const Problem problem(state.range(0), state.range(1), state.range(2), state.range(3));
  const auto matrix = [&](const std::vector<float>& from, std::int64_t head, std::int64_t rows) {
    return bench::Matrix(Eigen::Map<const Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>(
                             from.data() + head * rows * problem.D, rows, problem.D)
                             .cast<double>());
  };
  for (auto _ : state) {
    for (std::int64_t h = 0; h < problem.H; ++h) {
      benchmark::DoNotOptimize(
          bench::plain_attention(matrix(problem.q, h, problem.Tq), matrix(problem.k, h, problem.Tk),
                                 matrix(problem.v, h, problem.Tk), 1 / std::sqrt(static_cast<double>(problem.D))));
    }
  }
}

// One row of attention costs Tk · 2 D multiply-adds and Tk exponentials.
void wide_multiply_add(benchmark::State& state) {
  Wide sum = 0.25, a = Wide(1) / 3;
  const Wide b = Wide(2) / 7;
  for (auto _ : state) {
    sum += a * b;
    benchmark::DoNotOptimize(sum.backend().data());
  }
}

void wide_exp(benchmark::State& state) {
  Wide x = Wide(-7) / 3;
  for (auto _ : state) benchmark::DoNotOptimize(Wide(exp(x)).backend().data());
}

// CPU time: the ratios then hold on a busy machine too.
class Ratios : public benchmark::ConsoleReporter {
 public:
  std::map<std::string, double> nanoseconds;
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      if (!run.error_occurred)
        nanoseconds[run.benchmark_name()] =
            run.GetAdjustedCPUTime() * (run.time_unit == benchmark::kMillisecond ? 1e6 : 1);
    }
    ConsoleReporter::ReportRuns(runs);
  }
};

}  // namespace

BENCHMARK(certified)
    ->Args({1, 2048, 2048, 128, 0})
    ->Args({1, 2048, 2048, 128, 1})
    ->Args({1, 2048, 2048, 128, 4})
    ->Args({4, 130, 257, 64, 1})
    ->Args({4, 130, 257, 64, 6})
    ->Args({1, 4, 65536, 64, 1})
    ->Unit(benchmark::kMillisecond);
BENCHMARK(plain_double)
    ->Args({1, 2048, 2048, 128})
    ->Args({4, 130, 257, 64})
    ->Args({1, 4, 65536, 64})
    ->Unit(benchmark::kMillisecond);
BENCHMARK(wide_multiply_add);
BENCHMARK(wide_exp);

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  Ratios ratios;
  if (benchmark::RunSpecifiedBenchmarks(&ratios) == 0) return 1;
  const auto time = [&](const char* name) {
    const auto found = ratios.nanoseconds.find(name);
    return found == ratios.nanoseconds.end() ? std::nan("") : found->second;
  };
  const double certified_time = time("certified/1/2048/2048/128/1");
  const double wide_time = 2048.0 * 2048 * (256 * time("wide_multiply_add") + time("wide_exp"));
  std::printf("1 head, 2048 x 2048, D = 128, one thread, one arithmetic's bounds included:\n");
  std::printf(
      "  certified %.0f ms; plain double %.2f times that; 256-bit arithmetic %.0f times that (%.0f s, counted up)\n",
      certified_time * 1e-6, time("plain_double/1/2048/2048/128") / certified_time, wide_time / certified_time,
      wide_time * 1e-9);
  return 0;
}
