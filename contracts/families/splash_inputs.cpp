#include "contracts/families/splash_inputs.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "contracts/formats.hpp"
#include "contracts/random.hpp"

namespace nbx::contracts {
namespace {

using enum SplashKind;
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double log2_e = 1.4426950408889634;
constexpr std::int64_t tile = 64;

std::int64_t value_dim(const SplashProblem& p) { return p.Dv ? p.Dv : p.D; }

/// Where an element of q, k or v stands.
struct Place {
  std::int64_t b, head, position, d;
};

/// What queries and keys have alike, x theirs of an ordinary kind.
double alike(const SplashProblem& p, const Place& at, double x) {
  switch (p.kind) {
    case bad_sample:
      return at.b == 1 ? x * 40 : x;
    case zero:
      return 0;
    case last_dims:
      return 2 * at.d >= p.D ? 1.5 * x : 0x1p-6 * x;
    case clusters:
      return at.d == at.position % p.D ? 8 : 0;
    default:
      return x;
  }
}

double query(const SplashProblem& p, const Place& at, Random& random) {
  const double x = random.normal() * log2_e;
  const bool first = at.d == 0;
  switch (p.kind) {
    case scaled:
      return x * p.size;
    case sink_head:
      return at.head == 0 ? x * p.size : x;
    case hot_block:
      return at.position / p.block_q == 1 ? x * 60 : x;
    case adversarial:
      return first ? 231 : at.d == 1 ? 2 : 0;
    case opposed:
      return first && p.plant == SplashPlant::broken_promise ? 231 : at.d == 1 ? 2 : 0;
    case anti:
      return first ? 11 : 0.25 * x;
    case uncentred:
      return first ? 1 : 0;
    case negative:
    case rising:
      return first ? 8 * log2_e : 0.5 * x;
    default:
      return alike(p, at, x);
  }
}

double key(const SplashProblem& p, const Place& at, Random& random) {
  const double x = random.normal() / std::sqrt(static_cast<double>(p.D));
  const bool first = at.d == 0;
  const double sign = at.position % 2 ? -1 : 1;
  switch (p.kind) {
    case scaled:
      return x * p.size;
    case sink_head:
      return at.head == 0 ? x * p.size : x;
    case boundary:  // of norm 1 or less, in pairs
      return at.d == at.position / 2 % 8 ? (at.position / 2 % 8 == 0 ? sign : 0.75 * sign) : 0;
    case adversarial:
    case opposed:
      return at.d == 1 ? sign : 0;
    case anti:
      return first ? -12 : 0.5 * x;
    case offset:
      return p.size + x;
    case moved:
      return std::fmin(std::fmax(std::rint(4 * random.normal()) / 16, -1.875), 1.875) + moved_by(p, at.d);
    case apart:
      return x + (2 * at.position < p.Tk ? p.size : -p.size);
    case aligned:
      return !first ? 0 : 2 * at.position < p.Tk ? 1 : -1;
    case hot_keys:
      return 4 * at.position >= 3 * p.Tk ? x * p.size : x;
    case uncentred:
      return !first ? 0 : at.position == p.Tk / 2 ? 100 : -100;
    case flush:
      return first ? -1 : 0;
    case negative:
      return first ? -2.5 : 0.5 * x;
    case rising:
      return first ? 0.0625 * static_cast<double>(at.position) * (24.0 / static_cast<double>(p.Tk)) * 2 : 0.5 * x;
    default:
      return alike(p, at, x);
  }
}

double value(const SplashProblem& p, const Place& at, Random& random) {
  const double x = random.normal();
  switch (p.kind) {
    case adversarial:
    case opposed:
      return at.position % 2 ? -1 : 1;
    case large_value:
      return at.head == 0 && at.position == p.Tk / 3 && at.d == 1 ? 512 : x;
    case flush:
      return random.sign() * std::ldexp(1, -static_cast<int>(at.d % 21));
    case clusters:
      return at.d == (at.position / p.D) % value_dim(p) ? 200 : x;
    case markers: {
      const std::int64_t t = at.position / tile;
      const auto place = static_cast<std::int64_t>(mix(static_cast<std::uint64_t>(t) + 17) % tile);
      return (at.position % tile == place || at.position == p.Tk - 1) && at.d == t % value_dim(p) ? 240 : x;
    }
    default:
      return x;
  }
}

template <class Element>
std::shared_ptr<Bytes> fill(const SplashProblem& p, DLDataType type, const Shape& shape, Random random,
                            Element element) {
  auto bytes = std::make_shared<Bytes>(static_cast<std::size_t>(count(shape)) * (type.bits / 8));
  const oracle::Format format = *oracle_format(type);
  std::int64_t index = 0;
  for (std::int64_t b = 0; b < shape[0]; ++b)
    for (std::int64_t h = 0; h < shape[1]; ++h)
      for (std::int64_t i = 0; i < shape[2]; ++i)
        for (std::int64_t d = 0; d < shape[3]; ++d)
          put_pattern(*bytes, type, index++, oracle::encode(format, element(p, Place{b, h, i, d}, random)));
  return bytes;
}

/// A vector of norm `target` but for 2^-10 of its last component: each component takes what fits of what is left, in
/// the format.
std::vector<double> of_norm(double target, std::int64_t D, oracle::Format format) {
  std::vector<double> out(static_cast<std::size_t>(D), 0.0);
  double left = target * target;
  for (std::size_t d = 0; d < out.size() && left > 0; ++d) {
    double x = std::sqrt(left);
    double rounded = oracle::decode(format, oracle::encode(format, x));
    while (rounded * rounded > left) {
      x *= 1 - 0x1p-9;
      rounded = oracle::decode(format, oracle::encode(format, x));
    }
    out[d] = rounded;
    left -= rounded * rounded;
  }
  return out;
}

/// Queries of the norm that the bound is to have, where the keys' largest is 1.
void set_norms(const SplashProblem& p, Bytes& q, DLDataType type, double target) {
  const oracle::Format format = *oracle_format(type);
  const std::vector<double> row = of_norm(target, p.D, format);
  for (std::int64_t i = 0; i < p.B * p.H * p.Tq * p.D; ++i)
    put_pattern(q, type, i, oracle::encode(format, row[static_cast<std::size_t>(i % p.D)]));
}

void plant(const SplashProblem& p, DLDataType type, Bytes& k, Bytes& v, Random random) {
  const oracle::Format format = *oracle_format(type);
  const std::int64_t key = random.below(p.B * p.Hk * p.Tk);
  const auto put = [&](Bytes& bytes, std::int64_t dim, double x) {
    put_pattern(bytes, type, key * dim + random.below(dim), oracle::encode(format, x));
  };
  if (p.plant == SplashPlant::nan_key) put(k, p.D, nan);
  if (p.plant == SplashPlant::nan_value) put(v, value_dim(p), nan);
  if (p.plant == SplashPlant::inf_value) put(v, value_dim(p), std::numeric_limits<double>::infinity());
}

std::vector<double> mean_of_keys(const SplashProblem& p, const SplashData& data) {
  std::vector<double> mean(static_cast<std::size_t>(p.B * p.Hk * p.D), 0.0);
  if (p.kind == flush) return mean;
  for (std::int64_t kv = 0; kv < p.B * p.Hk; ++kv)
    for (std::int64_t d = 0; d < p.D; ++d) {
      double sum = 0;
      for (std::int64_t j = 0; j < p.Tk; ++j) sum += value_at(*data.k, data.format, (kv * p.Tk + j) * p.D + d);
      mean[static_cast<std::size_t>(kv * p.D + d)] = static_cast<float>(sum / static_cast<double>(p.Tk));
    }
  return mean;
}

}  // namespace

double moved_by(const SplashProblem& p, std::int64_t d) {
  constexpr double of[] = {1, -0.5, 0.25, 0};
  return p.kind == moved ? p.size * of[d % 4] : 0;
}

const char* kind_name(SplashKind kind) {
  constexpr const char* names[] = {"normal",      "scaled",  "sink_head",  "hot_block",   "boundary", "anti",
                                   "adversarial", "opposed", "bad_sample", "large_value", "zero",     "offset",
                                   "uncentred",   "flush",   "moved",      "apart",       "hot_keys", "aligned",
                                   "negative",    "markers", "rising",     "last_dims",   "clusters"};
  static_assert(std::size(names) == static_cast<std::size_t>(clusters) + 1);
  return names[static_cast<int>(kind)];
}

const char* plant_name(SplashPlant plant) {
  constexpr const char* names[] = {"none", "nan_key", "nan_value", "inf_value", "broken_promise"};
  return names[static_cast<int>(plant)];
}

std::string problem_name(const SplashProblem& p) {
  std::string name = fmt::format("B={},H={},Hk={},Tq={},Tk={},D={}", p.B, p.H, p.Hk, p.Tq, p.Tk, p.D);
  if (p.Dv) name += fmt::format(",Dv={}", p.Dv);
  name += fmt::format(",block_q={}", p.block_q);
  if (p.per_head) name += ",per_head";
  if (p.ftz) name += ",ftz";
  name += fmt::format(",{}", kind_name(p.kind));
  if (p.kind == boundary || p.size != 0) name += fmt::format("={:+g}", p.size);
  if (p.plant != SplashPlant::none) name += fmt::format(",plant={}", plant_name(p.plant));
  return name;
}

oracle::SplashInput SplashData::input(const SplashProblem& p) const {
  const auto view = [&](const SharedBytes& bytes, const Shape& shape) {
    return oracle::View{.bytes = *bytes, .format = *oracle_format(format), .shape = shape};
  };
  return {.q = view(q, q_shape),
          .k = view(k, k_shape),
          .v = view(v, v_shape),
          .k_mean = k_mean,
          .block_q = p.block_q,
          .per_head = p.per_head,
          .holds = same_type(format, f32_type) || same_type(format, bf16_type)};
}

SplashData make_splash_data(const SplashProblem& p, DLDataType format, std::uint64_t seed) {
  const std::string name = problem_name(p);
  SplashData data;
  data.format = format;
  data.q_shape = {p.B, p.H, p.Tq, p.D};
  data.k_shape = {p.B, p.Hk, p.Tk, p.D};
  data.v_shape = {p.B, p.Hk, p.Tk, value_dim(p)};
  auto q = fill(p, format, data.q_shape, Random(seed, name + "/q"), query);
  auto k = fill(p, format, data.k_shape, Random(seed, name + "/k"), key);
  auto v = fill(p, format, data.v_shape, Random(seed, name + "/v"), value);
  data.window = oracle::splash_window(p.Tk, 256);
  if (p.kind == boundary || p.kind == aligned) set_norms(p, *q, format, data.window.gate + p.size);
  if (p.kind == flush) set_norms(p, *q, format, data.window.gate);
  plant(p, format, *k, *v, Random(seed, name + "/plant"));
  data.q = q;
  data.k = k;
  data.v = v;
  data.k_mean = mean_of_keys(p, data);
  data.blocks = oracle::splash_blocks(data.input(p));
  for (const oracle::SplashBlock& block : data.blocks) {
    // A broken promise: the shift of a bound past the gate, as the whole window W would have allowed.
    if (p.plant == SplashPlant::broken_promise)
      data.shift.push_back(std::ceil(block.bound) - data.window.C);
    else
      data.shift.push_back(block.eligible ? block.least - data.window.C : nan);
  }
  return data;
}

SharedBytes f32_bytes(const std::vector<double>& values) {
  auto bytes = std::make_shared<Bytes>(values.size() * 4);
  for (std::size_t i = 0; i < values.size(); ++i)
    put_pattern(*bytes, f32_type, static_cast<std::int64_t>(i), oracle::encode(oracle::Format::f32, values[i]));
  return bytes;
}

}  // namespace nbx::contracts
