#include "oracle/splash.hpp"

#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

namespace nbx::oracle {
namespace {

using Integer = boost::multiprecision::number<boost::multiprecision::cpp_int_backend<>, boost::multiprecision::et_off>;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr int unit = 149;  // fp32 numbers are multiples of 2^-unit

/// value · 2^unit of an fp32 number.
Integer integer(double value) {
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);
  const auto mantissa = static_cast<std::int64_t>(std::ldexp(fraction, 24));
  const int shift = exponent - 24 + unit;
  return shift >= 0 ? Integer(mantissa) << shift : Integer(mantissa / (std::int64_t{1} << std::min(-shift, 62)));
}

struct Sizes {
  std::int64_t B, H, Hk, Tq, Tk, D, Dv;
  explicit Sizes(const SplashInput& in)
      : B(in.q.shape[0]),
        H(in.q.shape[1]),
        Hk(in.k.shape[1]),
        Tq(in.q.shape[2]),
        Tk(in.k.shape[2]),
        D(in.q.shape[3]),
        Dv(in.v.shape[3]) {}
  std::int64_t kv(std::int64_t head) const { return head / H * Hk + head % H / (H / Hk); }  // of B · H
};

double mean_at(const SplashInput& in, std::int64_t kv, std::int64_t d, std::int64_t D) {
  return in.k_mean.empty() ? 0 : in.k_mean[static_cast<std::size_t>(kv * D + d)];
}

/// ‖row‖² of q, or of a key less the mean.
double square(const View& view, std::int64_t row, std::int64_t D, const double* mean) {
  std::vector<double> x(static_cast<std::size_t>(D));
  view.read(row * D, x);
  double sum = 0;
  for (std::int64_t d = 0; d < D; ++d) {
    const double c = mean == nullptr ? x[d] : x[d] - mean[d];
    sum += c * c;
  }
  return std::isfinite(sum) ? sum : kNaN;
}

double larger(double a, double b) { return std::isnan(a) || std::isnan(b) ? kNaN : std::fmax(a, b); }

/// The largest exact squared norm, in 2^-298, among rows [first, first + count).
Integer exact_square(const View& view, std::int64_t first, std::int64_t count, std::int64_t D, const double* mean) {
  Integer largest = 0;
  for (std::int64_t row = first; row < first + count; ++row) {
    Integer sum = 0;
    for (std::int64_t d = 0; d < D; ++d) {
      const Integer c = integer(view.at(row * D + d)) - (mean == nullptr ? Integer(0) : integer(mean[d]));
      sum += c * c;
    }
    if (sum > largest) largest = sum;
  }
  return largest;
}

/// Compares U² of one block with squares of integers: in double where that is clear, exactly where it is not.
class Bound {
 public:
  Bound(const SplashInput& in, std::int64_t head, std::int64_t block, double q2, double k2)
      : in_(in), sizes_(in), head_(head), block_(block), square_(q2 * k2) {}

  double square() const { return square_; }
  bool at_most(int n) const {
    const double other = static_cast<double>(n) * n;
    const double doubt = other * 4 * norm_radius(sizes_.D);
    if (square_ <= other - doubt) return true;
    if (!(square_ < other + doubt)) return false;
    return exact() <= (Integer(n) * n << (4 * unit));
  }

 private:
  /// U² in 2^-596.
  const Integer& exact() const {
    if (exact_ >= 0) return exact_;
    const std::int64_t begin = in_.per_head ? 0 : block_ * in_.block_q;
    const std::int64_t end = in_.per_head ? sizes_.Tq : std::min(begin + in_.block_q, sizes_.Tq);
    const std::int64_t kv = sizes_.kv(head_);
    const double* mean = in_.k_mean.empty() ? nullptr : in_.k_mean.data() + kv * sizes_.D;
    exact_ = exact_square(in_.q, head_ * sizes_.Tq + begin, end - begin, sizes_.D, nullptr) *
             exact_square(in_.k, kv * sizes_.Tk, sizes_.Tk, sizes_.D, mean);
    return exact_;
  }

  const SplashInput& in_;
  Sizes sizes_;
  std::int64_t head_, block_;
  double square_;
  mutable Integer exact_ = -1;
};

int ceil_log2(std::int64_t n) {
  int bits = 0;
  while (bits < 63 && (std::uint64_t{1} << bits) < static_cast<std::uint64_t>(n)) ++bits;
  return bits;
}

/// ⌈log2 x⌉ of x > 0.
int ceil_log2(double x) {
  int exponent = 0;
  return std::frexp(x, &exponent) == 0.5 ? exponent - 1 : exponent;
}

}  // namespace

SplashWindow splash_window(std::int64_t keys, double v_max) {
  if (keys <= 0) throw std::invalid_argument("splash window: keys " + std::to_string(keys) + "; accepted: at least 1");
  if (!(v_max > 0) || !std::isfinite(v_max)) {
    throw std::invalid_argument("splash window: v_max " + std::to_string(v_max) + "; accepted: positive and finite");
  }
  const int C = 127 - ceil_log2(keys) - std::max(0, ceil_log2(v_max));
  const int W = C + 125;
  return {C, W, W / 2};
}

double norm_radius(std::int64_t D) { return static_cast<double>(D + 4) * 0x1p-52; }
double norm_slack(std::int64_t D) { return static_cast<double>(D + 8) * 0x1p-22; }
double score_slack(std::int64_t D) { return static_cast<double>(D + 1) * 0x1p-23; }

SplashNorms splash_norms(const SplashInput& in) {
  const Sizes s(in);
  const std::int64_t blocks = in.blocks();
  SplashNorms out;
  out.query.assign(static_cast<std::size_t>(s.B * s.H * blocks), 0.0);
  for (std::int64_t head = 0; head < s.B * s.H; ++head) {
    double* const of_head = out.query.data() + head * blocks;
    for (std::int64_t i = 0; i < s.Tq; ++i) {
      double& largest = of_head[i / in.block_q];
      largest = larger(largest, square(in.q, head * s.Tq + i, s.D, nullptr));
    }
    double all = 0;
    for (std::int64_t n = 0; n < blocks; ++n) all = larger(all, of_head[n]);
    if (in.per_head) std::fill_n(of_head, blocks, all);
  }
  for (std::int64_t kv = 0; kv < s.B * s.Hk; ++kv) {
    const double* mean = in.k_mean.empty() ? nullptr : in.k_mean.data() + kv * s.D;
    double centred = 0, raw = 0, value = 0;
    std::vector<double> v(static_cast<std::size_t>(s.Dv));
    for (std::int64_t j = 0; j < s.Tk; ++j) {
      centred = larger(centred, square(in.k, kv * s.Tk + j, s.D, mean));
      raw = larger(raw, square(in.k, kv * s.Tk + j, s.D, nullptr));
      in.v.read((kv * s.Tk + j) * s.Dv, v);
      for (const double x : v) value = larger(value, std::fabs(x));
    }
    out.key.push_back(centred);
    out.raw_key.push_back(raw);
    out.value.push_back(value);
  }
  return out;
}

std::vector<SplashBlock> splash_blocks(const SplashInput& in) {
  const Sizes s(in);
  const SplashWindow window = splash_window(in.count(), in.v_max);
  const SplashNorms norms = splash_norms(in);
  const double upward = (1 + norm_slack(s.D)) * (1 + norm_slack(s.D)) * (1 + 0x1p-20);
  std::vector<SplashBlock> out;
  for (std::int64_t head = 0; head < s.B * s.H; ++head) {
    const auto kv = static_cast<std::size_t>(s.kv(head));
    for (std::int64_t n = 0; n < in.blocks(); ++n) {
      const double q2 = norms.query[static_cast<std::size_t>(head * in.blocks() + n)];
      SplashBlock block;
      block.bound = std::sqrt(q2 * norms.key[kv]);
      const double known = 4 * score_slack(s.D) * score_slack(s.D) * q2 * norms.raw_key[kv];  // must be at most 1
      if (in.holds && norms.value[kv] <= in.v_max && known <= 1 && std::isfinite(block.bound)) {
        const Bound bound(in, head, n, q2, norms.key[kv]);
        block.eligible = bound.at_most(window.gate);
        const double rounded = bound.square() * upward + 0x1p-100;
        block.either = block.eligible &&
                       (rounded > static_cast<double>(window.gate) * window.gate || known * upward * (1 + 0x1p-18) > 1);
        while (block.least < window.gate && !bound.at_most(block.least)) ++block.least;
        block.most = block.least;
        while (block.most < window.gate && static_cast<double>(block.most) * block.most < rounded) ++block.most;
      }
      out.push_back(block);
    }
  }
  return out;
}

LostMass lost_mass(const SplashInput& in, std::int64_t row, double shift, bool centred, bool flush_to_zero) {
  const Sizes s(in);
  const std::int64_t kv = s.kv(row / s.Tq);
  const int threshold = flush_to_zero ? -126 : -149;
  std::vector<double> q(static_cast<std::size_t>(s.D)), k(q), v(static_cast<std::size_t>(s.Dv));
  in.q.read(row * s.D, q);
  std::vector<double> exponent(static_cast<std::size_t>(s.Tk));  // z − m
  std::vector<bool> lost(exponent.size());
  LostMass out{.least = std::numeric_limits<double>::infinity(), .most = -std::numeric_limits<double>::infinity()};
  for (std::int64_t j = 0; j < s.Tk; ++j) {
    in.k.read((kv * s.Tk + j) * s.D, k);
    double z = -shift, magnitude = std::fabs(shift);
    for (std::int64_t d = 0; d < s.D; ++d) {
      const double c = centred ? k[d] - mean_at(in, kv, d, s.D) : k[d];
      z += q[d] * c;
      magnitude += std::fabs(q[d] * c);
    }
    exponent[j] = z;
    out.least = std::fmin(out.least, z);
    out.most = std::fmax(out.most, z);
    const double doubt = magnitude * static_cast<double>(s.D + 4) * 0x1p-52;
    lost[j] = z < threshold;
    if (std::fabs(z - threshold) <= doubt) {  // exactly, in 2^-298
      Integer exact = -(integer(shift) << unit) - (Integer(threshold) << (2 * unit));
      for (std::int64_t d = 0; d < s.D; ++d) {
        exact += integer(q[d]) * (integer(k[d]) - (centred ? integer(mean_at(in, kv, d, s.D)) : Integer(0)));
      }
      lost[j] = exact < 0;
    }
    out.lost += lost[j] ? 1 : 0;
  }
  double sum = 0, of_lost = 0;
  std::vector<double> vanished(v.size(), 0.0);
  for (std::int64_t j = 0; j < s.Tk; ++j) {
    const double p = std::exp2(exponent[j] - out.most);
    sum += p;
    if (lost[j]) of_lost += p;
    const double limit = std::exp2(threshold - exponent[j]);  // |p v| vanishes for |v| below
    if (!(limit > 0x1p-149)) continue;                        // no fp32 number but 0 is
    in.v.read((kv * s.Tk + j) * s.Dv, v);
    for (std::size_t d = 0; d < v.size(); ++d) vanished[d] += std::fabs(v[d]) < limit ? p * std::fabs(v[d]) : 0;
  }
  out.share = of_lost / sum;
  for (const double x : vanished) out.contribution = std::fmax(out.contribution, x / sum);
  return out;
}

}  // namespace nbx::oracle
