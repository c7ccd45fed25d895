#include "oracle/plain.hpp"

#include <cmath>
#include <limits>

namespace nbx::oracle {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// Wide enough for every sum of products of three fp32 numbers and a bias to be exact.
using Score = PlainReal<1024>;

/// A weight below exp(-10000) changes no bit of a result that fits a double.
constexpr double negligible = -10000;

template <class Real>
Real weight_of(const Score& score, const Score& maximum, bool base_two = false) {
  const Score difference = score - maximum;
  if (difference < negligible) return Real(0);
  const Real exponent = static_cast<Real>(difference);
  return exp(base_two ? Real(exponent * log(Real(2))) : exponent);
}

bool is_finite(const Score& score) { return isfinite(score); }

/// score = scale · Σ q k + bias. With a non-finite part: what IEEE 754 gives.
Score score_of(const AttentionInput& in, std::int64_t q_start, std::int64_t k_start, double scale, double bias) {
  const std::int64_t D = in.q.shape[3];
  Score exact = 0;
  double rough = 0;
  for (std::int64_t d = 0; d < D; ++d) {
    const double product = in.q.at(q_start + d) * in.k.at(k_start + d);  // exact: 48 bits
    rough += product;
    if (std::isfinite(product)) exact += product;
  }
  rough = rough * scale + bias;
  if (!std::isfinite(rough)) return Score(rough);
  return exact * scale + bias;
}

bool hidden(const AttentionInput& in, std::int64_t b, std::int64_t i, std::int64_t j) {
  const std::int64_t Tq = in.q.shape[2], Tk = in.k.shape[2];
  const bool per_entry = static_cast<std::int64_t>(in.lengths.size()) == in.q.shape[0];
  if (!in.lengths.empty() && j >= in.lengths[per_entry ? b : b * Tq + i]) return true;
  if (in.causal == Causal::top_left && j > i) return true;
  return in.causal == Causal::bottom_right && j > i + Tk - Tq;
}

double bias_at(const AttentionInput& in, std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) {
  if (!in.bias) return 0;
  const std::vector<std::int64_t>& shape = in.bias->shape;
  const std::int64_t at[4] = {b, h, i, j};
  std::int64_t index = 0;
  for (int axis = 0; axis < 4; ++axis) index = index * shape[axis] + (shape[axis] == 1 ? 0 : at[axis]);
  return in.bias->at(index);
}

enum class Key : std::uint8_t { hidden, biased_away, counted };

struct ScoredKey {
  Key kind;
  Score score;
};

/// One column of one row. `maximum` is the largest counted score, finite.
template <class Real>
Real mean_of(const AttentionInput& in, const std::vector<ScoredKey>& keys, const std::vector<Real>& weights,
             const Real& sum, std::int64_t v_start, Arithmetic::MaskedValue masked_value) {
  const std::int64_t Dv = in.v.shape[3];
  Real total = 0;
  double irregular = 0;  // NaN or ±Inf once such a value takes part
  for (std::size_t j = 0; j < keys.size(); ++j) {
    if (keys[j].kind == Key::hidden) continue;
    const double v = in.v.at(v_start + static_cast<std::int64_t>(j) * Dv);
    if (keys[j].kind == Key::biased_away) {
      if (!std::isfinite(v) && masked_value == Arithmetic::MaskedValue::propagates) irregular = nan;
    } else if (is_finite(keys[j].score)) {
      if (std::isfinite(v)) {
        total += weights[j] * Real(v);
      } else {
        irregular += v;  // Inf - Inf is NaN
      }
    }
  }
  return irregular == 0 ? Real(total / sum) : Real(irregular);
}

}  // namespace

template <unsigned Bits>
std::vector<std::vector<PlainReal<Bits>>> plain(const AttentionInput& in, Arithmetic::MaskedValue masked_value) {
  using Real = PlainReal<Bits>;
  const std::int64_t B = in.q.shape[0], H = in.q.shape[1], Tq = in.q.shape[2], D = in.q.shape[3];
  const std::int64_t Hk = in.k.shape[1], Tk = in.k.shape[2], Dv = in.v.shape[3];
  const double scale = in.scale ? *in.scale : static_cast<float>(1 / std::sqrt(static_cast<double>(D)));
  std::vector<Real> o, lse;
  for (std::int64_t b = 0; b < B; ++b) {
    for (std::int64_t h = 0; h < H; ++h) {
      const std::int64_t kv = b * Hk + h * Hk / H;
      for (std::int64_t i = 0; i < Tq; ++i) {
        std::vector<ScoredKey> keys(Tk);
        bool spoilt = false;
        Score maximum = -infinity;
        for (std::int64_t j = 0; j < Tk; ++j) {
          const double bias = bias_at(in, b, h, i, j);
          keys[j].kind = hidden(in, b, i, j) ? Key::hidden : bias == -infinity ? Key::biased_away : Key::counted;
          if (keys[j].kind != Key::counted) continue;
          keys[j].score = score_of(in, ((b * H + h) * Tq + i) * D, (kv * Tk + j) * D, scale, bias);
          if (isnan(keys[j].score) || keys[j].score == infinity) spoilt = true;
          if (keys[j].score > maximum) maximum = keys[j].score;
        }
        if (spoilt || maximum == -infinity) {
          o.insert(o.end(), Dv, Real(spoilt ? nan : 0));
          lse.push_back(Real(spoilt ? nan : -infinity));
          continue;
        }
        std::vector<Real> weights(Tk, Real(0));
        Real sum = 0;
        for (std::int64_t j = 0; j < Tk; ++j) {
          if (keys[j].kind == Key::counted && is_finite(keys[j].score)) {
            weights[j] = weight_of<Real>(keys[j].score, maximum, in.base_two);
            sum += weights[j];
          }
        }
        for (std::int64_t d = 0; d < Dv; ++d) {
          o.push_back(mean_of(in, keys, weights, sum, kv * Tk * Dv + d, masked_value));
        }
        const Real of_maximum = static_cast<Real>(maximum);
        lse.push_back((in.base_two ? Real(of_maximum * log(Real(2))) : of_maximum) + log(sum));
      }
    }
  }
  return {o, lse};
}

template <unsigned Bits>
std::vector<std::vector<PlainReal<Bits>>> plain(const SoftmaxInput& in) {
  using Real = PlainReal<Bits>;
  const std::size_t axis = in.axis < 0 ? in.x.shape.size() - static_cast<std::size_t>(-in.axis) : in.axis;
  std::int64_t outer = 1, inner = 1;
  for (std::size_t a = 0; a < axis; ++a) outer *= in.x.shape[a];
  for (std::size_t a = axis + 1; a < in.x.shape.size(); ++a) inner *= in.x.shape[a];
  const std::int64_t n = in.x.shape[axis];
  std::vector<Real> y(outer * n * inner);
  for (std::int64_t row = 0; row < outer * inner; ++row) {
    const auto at = [&](std::int64_t j) { return (row / inner * n + j) * inner + row % inner; };
    double maximum = -infinity;
    bool spoilt = false;
    for (std::int64_t j = 0; j < n; ++j) {
      const double x = in.x.at(at(j));
      spoilt = spoilt || std::isnan(x) || x == infinity;
      if (x > maximum) maximum = x;
    }
    spoilt = spoilt || maximum == -infinity;
    Real sum = 0;
    for (std::int64_t j = 0; j < n && !spoilt; ++j) {
      y[at(j)] = in.x.at(at(j)) == -infinity ? Real(0) : weight_of<Real>(in.x.at(at(j)), maximum);
      sum += y[at(j)];
    }
    const Real log_sum = spoilt ? Real(nan) : Real(log(sum));
    for (std::int64_t j = 0; j < n; ++j) {
      const double x = in.x.at(at(j));
      if (spoilt) {
        y[at(j)] = nan;
      } else if (in.log) {
        y[at(j)] = x == -infinity ? Real(-infinity) : Real(static_cast<Real>(Score(Score(x) - maximum)) - log_sum);
      } else {
        y[at(j)] /= sum;
      }
    }
  }
  return {y};
}

template std::vector<std::vector<PlainReal<256>>> plain<256>(const SoftmaxInput&);
template std::vector<std::vector<PlainReal<512>>> plain<512>(const SoftmaxInput&);
template std::vector<std::vector<PlainReal<256>>> plain<256>(const AttentionInput&, Arithmetic::MaskedValue);
template std::vector<std::vector<PlainReal<512>>> plain<512>(const AttentionInput&, Arithmetic::MaskedValue);

bool admits(const Expected& expected, std::int64_t element, const PlainReal<256>& answer) {
  const unsigned classes = expected.classes[element];
  if (isnan(answer)) return (classes & Class::not_a_number) != 0;
  if (isinf(answer)) return (classes & (answer > 0 ? Class::plus_infinity : Class::minus_infinity)) != 0;
  if ((classes & Class::exact_plus_zero) != 0 && answer == 0) return true;
  const double value = expected.value[element], radius = expected.radius[element];
  if ((classes & Class::finite) == 0 || !std::isfinite(value) || !(radius >= 0)) return false;
  if (radius == infinity) return true;
  const PlainReal<256> distance = abs(answer - value);
  return distance <= radius + ldexp(PlainReal<256>(radius), -150) + ldexp(PlainReal<256>(abs(answer)), -200);
}

double plain_decode(Format format, std::uint32_t bits) {
  struct Kind {
    std::uint32_t mantissas, exponents;  // how many of each there are
    int unused;                          // low bits of storage
    double first_step;                   // the smallest positive number
    bool has_infinity;
  };
  static const Kind kinds[] = {
      {1u << 23, 1u << 8, 0, 0x1p-149, true},   // f32
      {1u << 10, 1u << 5, 0, 0x1p-24, true},    // f16
      {1u << 7, 1u << 8, 0, 0x1p-133, true},    // bf16
      {1u << 10, 1u << 8, 13, 0x1p-136, true},  // tf32
      {1u << 3, 1u << 4, 0, 0x1p-9, false},     // e4m3
      {1u << 2, 1u << 5, 0, 0x1p-16, true},     // e5m2
  };
  const Kind& kind = kinds[static_cast<int>(format)];
  const std::uint32_t patterns = kind.mantissas * kind.exponents;  // of one sign
  const std::uint32_t place = (bits >> kind.unused) % patterns;
  const double sign = (bits >> kind.unused) / patterns % 2 == 0 ? 1 : -1;
  if (kind.has_infinity && place >= patterns - kind.mantissas) {
    return place == patterns - kind.mantissas ? sign * infinity : nan;
  }
  if (!kind.has_infinity && place == patterns - 1) return nan;
  // Subnormals and the first normal binade share the first step; each binade after them doubles it.
  double value = 0, step = kind.first_step;
  std::uint32_t left = place, width = 2 * kind.mantissas;
  while (left > width) {
    value += width * step;
    left -= width;
    width = kind.mantissas;
    step *= 2;
  }
  return sign * (value + left * step);
}

}  // namespace nbx::oracle
