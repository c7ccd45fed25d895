#include "emulated_kernel.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace nbx::oracle::testing {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float log2_e = 0x1.715476p0F;
constexpr float ln_2 = 0x1.62e43p-1F;

class Row {
 public:
  Row(const AttentionInput& input, const Emulation& emulation, std::int64_t row)
      : in_(input), a_(emulation.arithmetic), tile_(emulation.tile), random_(emulation.seed * 7919 + row) {
    const std::int64_t H = in_.q.shape[1], Tq = in_.q.shape[2];
    i_ = row % Tq, h_ = row / Tq % H, b_ = row / Tq / H;
    kv_ = b_ * in_.k.shape[1] + h_ / (H / in_.k.shape[1]);
    whole_ = a_.log2_at == Arithmetic::Log2At::whole;
    scale_ = in_.scale ? *in_.scale : static_cast<float>(1 / std::sqrt(static_cast<double>(in_.q.shape[3])));
    // Arithmetic::Log2At::whole takes an ordinary scale into c, and scales each product by another.
    in_c_ = scale_ >= 0x1p-40F && scale_ <= 0x1p40F;
    c_ = in_c_ ? scale_ * log2_e : log2_e;
    gather(row);
  }

  void run(double* o, double* lse) {
    const std::int64_t Dv = in_.v.shape[3];
    if (scores_.empty()) {
      std::fill(o, o + Dv, 0.0);
      *lse = -infinity;
      return;
    }
    const std::size_t width = tile_ == 0 ? scores_.size() : static_cast<std::size_t>(tile_);
    float maximum = -infinity, sum = 0;
    std::vector<float> out(static_cast<std::size_t>(Dv), 0.0F);
    for (std::size_t begin = 0; begin < scores_.size(); begin += width) {
      const std::size_t end = std::min(begin + width, scores_.size());
      float moved = maximum;
      for (std::size_t j = begin; j < end; ++j) {
        moved = larger(moved, whole_ ? std::ceil(flushed(scores_[j] * c_)) : scores_[j]);
      }
      const float rescale = begin == 0 ? 0 : whole_ ? std::exp2(maximum - moved) : weight(maximum, moved);
      maximum = moved;
      std::vector<float> weights;
      float part = 0;
      for (std::size_t j = begin; j < end; ++j) {
        weights.push_back(weight(scores_[j], maximum));
        part = flushed(part + weights.back());
      }
      sum = begin == 0 ? part : flushed(flushed(sum * rescale) + part);
      for (std::int64_t d = 0; d < Dv; ++d) {
        const float product = weighted(weights, begin, d, sum);
        out[d] = begin == 0 ? product : flushed(flushed(out[d] * rescale) + product);
      }
    }
    for (std::int64_t d = 0; d < Dv; ++d) o[d] = narrow(a_.output, finished(out[d], sum));
    const bool of_two = whole_ || a_.log2_at == Arithmetic::Log2At::score;
    const float m = of_two ? flushed(maximum * ln_2) : maximum;
    *lse = flushed(m + off(std::log(static_cast<double>(sum)), a_.log_ulp));
  }

 private:
  static float larger(float a, float b) { return std::isnan(a) || std::isnan(b) ? std::nanf("") : std::max(a, b); }

  float flushed(float x) const { return a_.flush_to_zero && std::fabs(x) < 0x1p-126F ? std::copysign(0.0F, x) : x; }

  /// An fp32 number up to `ulps` away from `exact`.
  float off(double exact, double ulps) {
    const auto near = static_cast<float>(exact);
    if (!std::isfinite(near) || exact == 0) return near;
    const double ulp = std::max(2 * half_ulp(Format::f32, exact), 0x1p-149);
    const double target = exact + std::uniform_real_distribution<double>(-ulps, ulps)(random_) * ulp;
    float away = random_() % 2 == 0 ? std::nextafter(static_cast<float>(target), infinity)
                                    : std::nextafter(static_cast<float>(target), -infinity);
    if (std::fabs(static_cast<double>(away) - exact) > ulps * ulp) away = static_cast<float>(target);
    if (std::fabs(static_cast<double>(away) - exact) > ulps * ulp) away = near;
    return flushed(away);
  }

  /// The exponent is n + r, r rounded once; past 2^21 it is a rounded difference.
  float whole_weight(float score, float shift) {
    if (std::fabs(shift) > 0x1p21F) return off(std::exp2(static_cast<double>(score * c_ - shift)), a_.exp_ulp);
    const double exponent = static_cast<double>(score) * c_ - shift;
    const double n = std::nearbyint(exponent);
    return off(std::exp2(n + static_cast<double>(static_cast<float>(exponent - n))), a_.exp_ulp);
  }

  float weight(float score, float maximum) {
    const float difference = flushed(score - maximum);
    switch (a_.log2_at) {
      case Arithmetic::Log2At::natural:
        return off(std::exp(static_cast<double>(difference)), a_.exp_ulp);
      case Arithmetic::Log2At::difference:
        return off(std::exp2(static_cast<double>(flushed(difference * log2_e))), a_.exp_ulp);
      case Arithmetic::Log2At::score:
      case Arithmetic::Log2At::direct:
        return off(std::exp2(static_cast<double>(difference)), a_.exp_ulp);
      case Arithmetic::Log2At::whole:
        return whole_weight(score, maximum);
    }
    return std::nanf("");
  }

  float finished(float out, float sum) const {
    switch (a_.normalise) {
      case Arithmetic::Normalise::output:
        return flushed(out / sum);
      case Arithmetic::Normalise::weights:
        return out;
      case Arithmetic::Normalise::reciprocal:
        return flushed(out * flushed(1 / sum));
    }
    return std::nanf("");
  }

  bool hidden(std::int64_t j) const {
    const std::int64_t Tq = in_.q.shape[2], Tk = in_.k.shape[2];
    if (!in_.lengths.empty() && j >= in_.lengths[b_]) return true;
    if (in_.causal == Causal::top_left && j > i_) return true;
    return in_.causal == Causal::bottom_right && j > i_ + Tk - Tq;
  }

  float bias_at(std::int64_t j) const {
    if (!in_.bias) return 0;
    const std::vector<std::int64_t>& shape = in_.bias->shape;
    const std::int64_t at[4] = {b_, h_, i_, j};
    std::int64_t index = 0;
    for (int axis = 0; axis < 4; ++axis) index = index * shape[axis] + (shape[axis] == 1 ? 0 : at[axis]);
    return static_cast<float>(in_.bias->at(index));
  }

  /// Scores of the counted keys.
  void gather(std::int64_t row) {
    const std::int64_t D = in_.q.shape[3], Tk = in_.k.shape[2];
    const bool scale_query = a_.scale_at == Arithmetic::ScaleAt::query;
    std::vector<float> q, k(static_cast<std::size_t>(D));
    for (std::int64_t d = 0; d < D; ++d) {
      const auto element = static_cast<float>(in_.q.at(row * D + d));
      const float scaled = scale_query ? flushed(element * scale_) : element;
      q.push_back(static_cast<float>(narrow(a_.qk.operand, scaled)));
    }
    for (std::int64_t j = 0; j < Tk; ++j) {
      const float bias = bias_at(j);
      if (hidden(j) || bias == -infinity) continue;
      for (std::int64_t d = 0; d < D; ++d) {
        k[d] = static_cast<float>(narrow(a_.qk.operand, in_.k.at((kv_ * Tk + j) * D + d)));
      }
      float score = dot(a_.qk, a_.qk.operand, q, k);
      if (!scale_query && !(whole_ && in_c_)) score = flushed(score * scale_);
      if (in_.bias && !whole_) score = flushed(score + bias);
      if (whole_ && bias != 0) {
        score = flushed(flushed(score * (in_c_ ? scale_ : 1)) + bias);
        score = flushed(score * (in_c_ ? 1 / scale_ : 1));
      }
      if (a_.log2_at == Arithmetic::Log2At::score) score = flushed(score * log2_e);
      keys_.push_back(j);
      scores_.push_back(score);
    }
  }

  /// Σ p v over the tile that begins at counted key `begin`.
  float weighted(const std::vector<float>& weights, std::size_t begin, std::int64_t d, float sum) {
    std::vector<float> p, v;
    for (std::size_t j = 0; j < weights.size(); ++j) {
      float weight = weights[j];
      if (a_.normalise == Arithmetic::Normalise::weights) weight = flushed(weight / sum);
      weight = static_cast<float>(narrow(a_.p_format, weight * a_.p_scale));
      p.push_back(static_cast<float>(narrow(a_.pv.operand, weight) / a_.p_scale));
      const double value = in_.v.at((kv_ * in_.v.shape[2] + keys_[begin + j]) * in_.v.shape[3] + d);
      v.push_back(static_cast<float>(narrow(a_.pv.operand, value)));
    }
    return dot(a_.pv, a_.pv.operand, p, v);
  }

  float dot(const Dot& dot, Format operand, const std::vector<float>& a, const std::vector<float>& b) {
    switch (dot.unit) {
      case Dot::Unit::simt_f32:
        return chains(dot.chains, a, b);
      case Dot::Unit::any_order:
        return any_order(dot, a, b);
      case Dot::Unit::fused_group:
        return dot.restart > 0 ? restarted(dot, operand, a, b) : fused(dot, operand, a, b);
      case Dot::Unit::grouped_f32:
        return grouped(dot, a, b);
      case Dot::Unit::split_f16:
        return split(dot, a, b);
    }
    return std::nanf("");
  }

  float chains(int count, const std::vector<float>& a, const std::vector<float>& b) const {
    std::vector<float> sums(static_cast<std::size_t>(count), 0.0F);
    for (std::size_t k = 0; k < a.size(); ++k) {
      float& sum = sums[k % sums.size()];
      sum = flushed(std::fma(a[k], b[k], sum));
    }
    while (sums.size() > 1) {
      for (std::size_t at = 0; 2 * at + 1 < sums.size(); ++at) sums[at] = flushed(sums[2 * at] + sums[2 * at + 1]);
      sums.resize(sums.size() / 2);
    }
    return sums[0];
  }

  /// To the precision of roundoff u: 2^-24 fp32, 2^-11 and 2^-8 as an accumulator of 11 or 8 bits.
  float rounded(float x, double u) const {
    if (u >= 0x1p-8) return static_cast<float>(narrow(Format::bf16, x));
    if (u >= 0x1p-11) return static_cast<float>(narrow(Format::tf32, x));
    return flushed(x);
  }

  /// A random binary tree over the terms in random order.
  float any_order(const Dot& dot, const std::vector<float>& a, const std::vector<float>& b) {
    if (dot.products_exact) {
      std::vector<std::size_t> order(a.size());
      for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;
      std::shuffle(order.begin(), order.end(), random_);
      float sum = 0;
      for (const std::size_t k : order) sum = rounded(std::fma(a[k], b[k], sum), dot.u);
      return sum;
    }
    std::vector<float> terms;
    for (std::size_t k = 0; k < a.size(); ++k) terms.push_back(rounded(a[k] * b[k], dot.u));
    while (terms.size() > 1) {
      const std::size_t at = random_() % terms.size();
      std::swap(terms[at], terms.back());
      const float term = terms.back();
      terms.pop_back();
      float& other = terms[random_() % terms.size()];
      other = rounded(other + term, dot.u);
    }
    return terms.empty() ? 0 : terms[0];
  }

  /// The exponent of an operand, clamped at its format's least: its significand is then below 1.
  static int exponent(Format format, float x) { return std::max(std::ilogb(x), traits(format).emin); }
  static double cut(double x, int to_exponent) {
    const double unit = std::ldexp(1.0, to_exponent);
    return std::trunc(x / unit) * unit;
  }

  /// Fused groups from zero, added in fp32 after every `restart` terms.
  static float restarted(const Dot& dot, Format operand, const std::vector<float>& a, const std::vector<float>& b) {
    const Format read = dot.subnormals_as_normal ? Format::f32 : operand;
    float sum = 0;
    for (std::size_t begin = 0; begin < a.size(); begin += static_cast<std::size_t>(dot.restart)) {
      const std::size_t end = std::min(begin + static_cast<std::size_t>(dot.restart), a.size());
      const auto part = [&](const std::vector<float>& of) {
        return std::vector<float>(of.begin() + static_cast<std::ptrdiff_t>(begin),
                                  of.begin() + static_cast<std::ptrdiff_t>(end));
      };
      sum += fused(dot, read, part(a), part(b));
    }
    return sum;
  }

  /// Matrix units: see the fused group of the specification.
  static float fused(const Dot& dot, Format operand, const std::vector<float>& a, const std::vector<float>& b) {
    double plainly = 0;  // a NaN or Inf among the operands decides alone
    for (std::size_t k = 0; k < a.size(); ++k) plainly += static_cast<double>(a[k]) * static_cast<double>(b[k]);
    if (!std::isfinite(plainly)) return static_cast<float>(plainly);
    double sum = 0;
    for (std::size_t begin = 0; begin < a.size(); begin += static_cast<std::size_t>(dot.group)) {
      const std::size_t end = std::min(begin + static_cast<std::size_t>(dot.group), a.size());
      int largest = dot.exponent_floor;
      if (sum != 0) largest = std::max(largest, std::ilogb(sum));
      for (std::size_t k = begin; k < end; ++k) {
        if (a[k] != 0 && b[k] != 0) largest = std::max(largest, exponent(operand, a[k]) + exponent(operand, b[k]));
      }
      double exact = cut(sum, largest - dot.kept_bits);
      for (std::size_t k = begin; k < end; ++k) {
        exact += cut(static_cast<double>(a[k]) * static_cast<double>(b[k]), largest - dot.kept_bits);
      }
      const int last = exact == 0 ? -149 : std::max(std::ilogb(exact) - dot.result_precision + 1, -149);
      sum = cut(exact, last);
      if (std::fabs(sum) > largest_finite(Format::f32)) return std::copysign(infinity, static_cast<float>(sum));
    }
    return static_cast<float>(sum);
  }

  /// m8n8k4: products of 11 bits are exact in fp32.
  static float grouped(const Dot& dot, const std::vector<float>& a, const std::vector<float>& b) {
    float sum = 0;
    for (std::size_t begin = 0; begin < a.size(); begin += static_cast<std::size_t>(dot.group)) {
      const std::size_t end = std::min(begin + static_cast<std::size_t>(dot.group), a.size());
      float group = a[begin] * b[begin];
      for (std::size_t k = begin + 1; k < end; ++k) group += a[k] * b[k];
      sum = group + sum;
    }
    return sum;
  }

  /// One line of operands in two parts of f16 each, and the power of two that both stand behind.
  struct Parts {
    std::vector<float> high, low;
    int scale = 0;
    explicit Parts(const std::vector<float>& x) {
      float largest = 0;
      for (const float one : x) largest = std::max(largest, std::fabs(one));
      if (largest > 0) scale = std::min(14 - std::ilogb(largest), 126);
      for (const float one : x) {
        const double y = std::ldexp(static_cast<double>(one), scale);
        high.push_back(static_cast<float>(narrow(Format::f16, y)));
        low.push_back(static_cast<float>(narrow(Format::f16, (y - static_cast<double>(high.back())) * 2048)));
      }
    }
  };

  static float split(const Dot& dot, const std::vector<float>& a, const std::vector<float>& b) {
    double plainly = 0;
    for (std::size_t k = 0; k < a.size(); ++k) plainly += static_cast<double>(a[k]) * static_cast<double>(b[k]);
    if (!std::isfinite(plainly)) return static_cast<float>(plainly);
    const Parts x(a), y(b);
    const auto stretch = static_cast<std::size_t>(dot.restart);
    float total = 0;
    for (std::size_t begin = 0; begin < a.size(); begin += stretch) {
      const std::size_t end = std::min(begin + stretch, a.size());
      const auto part = [&](const std::vector<float>& of) {
        return std::vector<float>(of.begin() + static_cast<std::ptrdiff_t>(begin),
                                  of.begin() + static_cast<std::ptrdiff_t>(end));
      };
      std::vector<float> left = part(x.high), right = part(y.low);
      const std::vector<float> more_left = part(x.low), more_right = part(y.high);
      const float main = grouped(dot, left, more_right);
      while (left.size() % static_cast<std::size_t>(dot.group) != 0) left.push_back(0), right.push_back(0);
      left.insert(left.end(), more_left.begin(), more_left.end());
      right.insert(right.end(), more_right.begin(), more_right.end());
      total += main + grouped(dot, left, right) / 2048;
    }
    return static_cast<float>(std::ldexp(static_cast<double>(total), -x.scale - y.scale));
  }

  const AttentionInput& in_;
  const Arithmetic& a_;
  std::int64_t tile_;
  std::mt19937_64 random_;
  std::int64_t b_ = 0, h_ = 0, i_ = 0, kv_ = 0;
  float scale_ = 1, c_ = 1;
  bool whole_ = false, in_c_ = false;
  std::vector<std::int64_t> keys_;  // counted
  std::vector<float> scores_;
};

}  // namespace

Arithmetic declared(const Emulation& emulation, std::int64_t keys) {
  Arithmetic arithmetic = emulation.arithmetic;
  const std::int64_t tile = emulation.tile == 0 ? keys : emulation.tile;
  const std::int64_t tiles = std::max<std::int64_t>(1, (keys + tile - 1) / std::max<std::int64_t>(tile, 1));
  arithmetic.sum_depth = std::min(tile, keys) + tiles - 1;
  arithmetic.rescales = tiles - 1;
  return arithmetic;
}

std::vector<std::vector<double>> emulate(const AttentionInput& input, const Emulation& emulation) {
  const std::int64_t rows = input.q.shape[0] * input.q.shape[1] * input.q.shape[2], Dv = input.v.shape[3];
  std::vector<double> o(static_cast<std::size_t>(rows * Dv)), lse(static_cast<std::size_t>(rows));
  for (std::int64_t row = 0; row < rows; ++row) Row(input, emulation, row).run(o.data() + row * Dv, lse.data() + row);
  return {o, lse};
}

}  // namespace nbx::oracle::testing
