#include "oracle/exact.hpp"

#include <cmath>
#include <cstring>
#include <functional>
#include <random>

#include "oracle/plain.hpp"

namespace nbx::oracle {
namespace {

using Rational = boost::multiprecision::cpp_rational;
using Real = PlainReal<256>;

constexpr std::int64_t heads = 4, kv_heads = 2, queries = 9, columns = 6, head_dim = 5;

void store(std::vector<std::byte>& bytes, Format format, std::int64_t index, double value) {
  const std::uint32_t bits = encode(format, value);
  const auto width = static_cast<std::size_t>(traits(format).bytes);
  for (std::size_t byte = 0; byte < width; ++byte) {  // little-endian, as everywhere that the packs run
    bytes[static_cast<std::size_t>(index) * width + byte] = static_cast<std::byte>(bits >> (8 * byte) & 0xFF);
  }
}

std::vector<std::byte> filled(Format format, std::int64_t size, const std::function<double(std::int64_t)>& value) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(size * traits(format).bytes));
  for (std::int64_t index = 0; index < size; ++index) store(bytes, format, index, value(index));
  return bytes;
}

struct Fill {
  std::function<double(std::int64_t)> q, k, v;  // by flat index
};

ExactCase make(std::string name, Format format, std::int64_t keys, const Fill& fill) {
  ExactCase problem;
  problem.name = std::move(name);
  problem.q = filled(format, heads * queries * head_dim, fill.q);
  problem.k = filled(format, kv_heads * keys * head_dim, fill.k);
  problem.v = filled(format, kv_heads * keys * columns, fill.v);
  problem.input.q = {.bytes = problem.q, .format = format, .shape = {1, heads, queries, head_dim}};
  problem.input.k = {.bytes = problem.k, .format = format, .shape = {1, kv_heads, keys, head_dim}};
  problem.input.v = {.bytes = problem.v, .format = format, .shape = {1, kv_heads, keys, columns}};
  return problem;
}

/// Calls row(h, i, first element of V of the row's KV head).
void for_rows(const ExactCase& problem, const std::function<void(std::int64_t, std::int64_t, std::int64_t)>& row) {
  const std::int64_t keys = problem.input.k.shape[2];
  for (std::int64_t h = 0; h < heads; ++h) {
    for (std::int64_t i = 0; i < queries; ++i) row(h, i, h / (heads / kv_heads) * keys * columns);
  }
}

/// All scores 0: `seen(i)` leading keys in equal parts.
void expect_means(ExactCase& problem, const std::function<std::int64_t(std::int64_t)>& seen) {
  for_rows(problem, [&](std::int64_t, std::int64_t i, std::int64_t v) {
    for (std::int64_t d = 0; d < columns; ++d) {
      Rational sum = 0;
      for (std::int64_t j = 0; j < seen(i); ++j) sum += Rational(problem.input.v.at(v + j * columns + d));
      problem.o.push_back(seen(i) == 0 ? Rational(0) : Rational(sum / seen(i)));
    }
    problem.lse_score.emplace_back(0);
    problem.lse_count.push_back(seen(i));
  });
}

/// Key 0 alone: its V row, and its score.
void expect_first_key(ExactCase& problem) {
  for_rows(problem, [&](std::int64_t h, std::int64_t i, std::int64_t v) {
    for (std::int64_t d = 0; d < columns; ++d) problem.o.emplace_back(problem.input.v.at(v + d));
    Rational score = 0;
    const std::int64_t k = h / (heads / kv_heads) * problem.input.k.shape[2] * head_dim;
    for (std::int64_t d = 0; d < head_dim; ++d) {
      score += Rational(problem.input.q.at((h * queries + i) * head_dim + d)) * Rational(problem.input.k.at(k + d));
    }
    problem.lse_score.push_back(score * Rational(static_cast<double>(*problem.input.scale)));
    problem.lse_count.push_back(1);
  });
}

void expect_constant(ExactCase& problem, int value) { problem.o.assign(heads * queries * columns, Rational(value)); }

bool encloses(const Expected& expected, std::size_t element, const Rational& answer) {
  const double value = expected.value[element], radius = expected.radius[element];
  if ((expected.classes[element] & Class::exact_plus_zero) != 0 && answer == 0) return true;
  if ((expected.classes[element] & Class::finite) == 0 || !std::isfinite(value) || !(radius >= 0)) return false;
  return std::isinf(radius) || abs(Rational(answer - Rational(value))) <= Rational(radius);
}

bool encloses_lse(const Expected& expected, std::size_t element, const Rational& score, std::int64_t count) {
  if (count == 0) return expected.classes[element] == Class::minus_infinity;
  if (count == 1) return encloses(expected, element, score);
  const Real answer = static_cast<Real>(score) + log(Real(count));
  return admits(expected, static_cast<std::int64_t>(element), answer);
}

}  // namespace

std::vector<ExactCase> exact_cases(Format format, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  const auto any = [&](std::int64_t) { return normal(random); };
  const auto zero = [](std::int64_t) { return 0.0; };
  const auto one = [](std::int64_t) { return 1.0; };
  std::vector<ExactCase> cases;
  const auto add = [&](std::string name, std::int64_t keys, const Fill& fill) -> ExactCase& {
    cases.push_back(make(std::move(name), format, keys, fill));
    return cases.back();
  };

  for (const std::int64_t keys : {std::int64_t{1}, std::int64_t{7}, std::int64_t{64}, std::int64_t{131}}) {
    expect_means(add("mean of V", keys, {zero, any, any}), [&](std::int64_t) { return keys; });
  }
  ExactCase& causal = add("mean of V, causal top left", 12, {zero, any, any});
  causal.input.causal = Causal::top_left;
  expect_means(causal, [](std::int64_t i) { return i + 1; });
  // Four keys before the nine queries' own five: the first four rows see nothing.
  ExactCase& late = add("mean of V, causal bottom right", 5, {zero, any, any});
  late.input.causal = Causal::bottom_right;
  expect_means(late, [](std::int64_t i) { return std::max<std::int64_t>(i - 3, 0); });
  ExactCase& none = add("nothing to see", 5, {any, any, any});
  none.input.lengths = {0};
  expect_means(none, [](std::int64_t) { return 0; });
  // Column d of V is 1 at key d alone.
  expect_means(
      add("one-hot V", columns,
          {zero, any, [](std::int64_t index) { return index % columns == index / columns % columns ? 1.0 : 0.0; }}),
      [](std::int64_t) { return columns; });
  expect_constant(add("V = 1", 37, {any, any, one}), 1);
  ExactCase& single = add("a row of V copied", 11, {any, any, any});
  single.input.lengths = {1};
  single.input.scale = 0.7F;
  expect_first_key(single);
  // Keys 2m and 2m + 1 are equal and their values opposite.
  std::vector<double> drawn(64 * kv_heads);
  for (double& value : drawn) value = normal(random);
  const auto paired_key = [&](std::int64_t index) {
    return drawn[static_cast<std::size_t>(index / head_dim / 2 * head_dim + index % head_dim) % drawn.size()];
  };
  const auto paired_value = [&](std::int64_t index) {
    const double value =
        drawn[static_cast<std::size_t>(index / columns / 2 * columns + index % columns) % drawn.size()];
    return index / columns % 2 == 0 ? value : -value;
  };
  expect_constant(add("pairs that cancel", 20, {any, paired_key, paired_value}), 0);
  return cases;
}

std::vector<std::string> missed(const ExactCase& problem, const Evaluation& evaluation) {
  std::vector<std::string> names;
  const auto check_size = [&](std::size_t output, std::size_t size) {
    const bool right = evaluation.outputs.size() > output && evaluation.outputs[output].expected.value.size() == size;
    if (!right) names.push_back("output " + std::to_string(output) + " has another size");
    return right;
  };
  if (check_size(0, problem.o.size())) {
    for (std::size_t at = 0; at < problem.o.size(); ++at) {
      if (!encloses(evaluation.outputs[0].expected, at, problem.o[at]))
        names.push_back("o[" + std::to_string(at) + "]");
    }
  }
  if (!problem.lse_count.empty() && check_size(1, problem.lse_count.size())) {
    for (std::size_t at = 0; at < problem.lse_count.size(); ++at) {
      if (!encloses_lse(evaluation.outputs[1].expected, at, problem.lse_score[at], problem.lse_count[at])) {
        names.push_back("lse[" + std::to_string(at) + "]");
      }
    }
  }
  return names;
}

}  // namespace nbx::oracle
