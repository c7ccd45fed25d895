#include "contracts/families/attention_elements.hpp"

#include <algorithm>
#include <cmath>

namespace nbx::contracts {
namespace {

using enum AttentionKind;
constexpr std::int64_t tile = 64;

std::int64_t value_dim(const AttentionProblem& p) { return p.Dv ? p.Dv : p.D; }

/// What a score of `s` needs from q · k, under the default scale.
double for_score(const AttentionProblem& p, double s) { return s * std::sqrt(static_cast<double>(p.D)); }

double pick_tiny(oracle::Format format, Random& random) {
  const double scale[] = {0.0, -0.0, oracle::quantum(format), oracle::smallest_normal(format)};
  return random.sign() * scale[random.below(4)] * (1 + static_cast<double>(random.below(3)));
}

/// One of 24 decades around 1, the at-th of `count`.
double decade(std::int64_t at, std::int64_t count) {
  return std::pow(10.0, -12 + 24 * static_cast<double>(at) / static_cast<double>(std::max<std::int64_t>(count - 1, 1)));
}

double mixed_element(Random& random) {
  return random.sign() * std::ldexp(1 + random.unit(), -static_cast<int>(random.below(29)));
}

/// Of a query or key: exponents far apart, in e4m3 as far as it has, so that one product loses places beside another.
double wide_element(oracle::Format format, Random& random) {
  const bool narrow = format == oracle::Format::e4m3;
  return random.sign() *
         std::ldexp(1 + random.unit(), static_cast<int>(random.below(narrow ? 18 : 10)) - (narrow ? 9 : 7));
}

}  // namespace

double query_element(const AttentionProblem& p, oracle::Format format, std::int64_t i, std::int64_t d, Random& random) {
  const double x = random.normal();
  switch (p.kind) {
    case uniform:
      return random.uniform(-1, 1);
    case wide:
      return wide_element(format, random);
    case constant:
      return 1;
    case powers:
      return d == 0 ? 2 : 0.25;
    case sink:
    case anti:
    case far:
    case negative:
    case rising:
      return d == 0 ? 8 : 0.5 * x;
    case faint:
      return d == 0 ? 8 : 0;
    case tiny:
      return pick_tiny(format, random);
    case overflow:
      return random.sign() * oracle::largest_finite(format) * (d % 2 ? 1.0 : 0.5);
    case zero_query:
      return 0;
    case last_dims:
      return 2 * d >= p.D ? 1.5 * x : 0x1p-6 * x;
    case clusters:
      return d == i % p.D ? 16 : 0;
    case balanced:
      return d == 0 || d == p.D - 1 ? 8 : 0.5 * x;
    case decades:
      return i % 5 == 3 ? 0 : x * decade(i, p.Tq);
    case mixed:
      return 4 * mixed_element(random);
    default:
      return x;
  }
}

double key_element(const AttentionProblem& p, oracle::Format format, std::int64_t j, std::int64_t d,
                   std::int64_t special, Random& random) {
  const double x = random.normal();
  const bool first = d == 0;
  switch (p.kind) {
    case uniform:
      return random.uniform(-1, 1);
    case wide:
      return wide_element(format, random);
    case constant:
      return 1;
    case powers:
      return d % 2 ? 1 : 0.5;
    case equal:
      return 0.25 * static_cast<double>((d * 7) % 5 - 2);
    case sink:
      return !first ? 0.5 * x : j == special ? for_score(p, 4 + 0.7 * std::ilogb(static_cast<double>(p.Tk))) / 8 : 0;
    case faint:
      return first && j == p.Tk / 3 ? for_score(p, 8.4) / 8 : 0;
    case anti:
      return first ? for_score(p, -200) / 8 : 0.5 * x;
    case far:
      return first ? for_score(p, -1500.0 * static_cast<double>(random.below(4))) / 8 : 0.5 * x;
    case negative:
      return first ? for_score(p, -20) / 8 : 0.5 * x;
    case rising: {
      const double step = std::min(0.5, 24.0 * tile / static_cast<double>(p.Tk));
      return first ? for_score(p, step * static_cast<double>(j / tile)) / 8 : 0.5 * x;
    }
    case tiny:
      return pick_tiny(format, random);
    case overflow:
      return random.sign() * oracle::largest_finite(format);
    case last_dims:
      return 2 * d >= p.D ? 1.5 * x : 0x1p-6 * x;
    case clusters:
      return d == j % p.D ? 16 : 0;
    case balanced:
      return first          ? for_score(p, -20) / 8
             : d == p.D - 1 ? for_score(p, 2.0 * static_cast<double>(j) / static_cast<double>(p.Tk)) / 8
                            : 0.5 * x;
    case decades:
      return j % 7 == 4 ? 0 : x;
    case mixed:
      return 4 * mixed_element(random);
    default:
      return x;
  }
}

double value_element(const AttentionProblem& p, oracle::Format format, std::int64_t j, std::int64_t d, Random& random) {
  const double x = random.normal();
  switch (p.kind) {
    case uniform:
      return random.uniform(-1, 1);
    case wide:
      return random.sign() * std::ldexp(1 + random.unit(), static_cast<int>(random.below(20)) - 14);
    case constant:
    case ones_value:
      return 1;
    case faint:
      return j == p.Tk / 3 ? 0 : 1;
    case powers:
      return std::ldexp(j % 2 ? 1 : -1, static_cast<int>(j % 4) + static_cast<int>(d % 3));
    case tiny:
      return pick_tiny(format, random);
    case largest:
      return random.sign() * oracle::largest_finite(format) * (random.below(2) ? 1.0 : 0.75);
    case one_hot:
      return j % value_dim(p) == d ? 1 : 0;
    case clusters:
      return d == (j / p.D) % value_dim(p) ? 1024 : x;
    case balanced:
      return d != (j + j / tile) % value_dim(p) ? 0.25 * x : mix(static_cast<std::uint64_t>(j)) & 1 ? 256 : -256;
    case decades:
      return j % 6 == 5 || d == 1 ? 0 : x * decade(d, value_dim(p));
    case mixed:
      return mixed_element(random);
    case markers: {
      // One marked key a tile, drawn, and the last key; each in a column of its own so that they do not drown each
      // other.
      const std::int64_t t = j / tile;
      const auto place = static_cast<std::int64_t>(mix(static_cast<std::uint64_t>(t) + 17) % tile);
      const bool marked = (j % tile == place || j == p.Tk - 1) && d == t % value_dim(p);
      return marked ? 1024 : x;
    }
    default:
      return x;
  }
}

}  // namespace nbx::contracts
