#include "oracle/splash_report.hpp"

#include <algorithm>
#include <cmath>

namespace nbx::oracle {
namespace {

int ceil_log2(std::int64_t n) {
  int bits = 0;
  while (bits < 62 && (std::int64_t{1} << bits) < n) ++bits;
  return bits;
}

/// The mean of the keys of each KV head, rounded to fp32.
std::vector<double> means(const SplashInput& in) {
  const std::int64_t heads = in.k.shape[0] * in.k.shape[1], Tk = in.k.shape[2], D = in.k.shape[3];
  std::vector<double> out(static_cast<std::size_t>(heads * D), 0.0), key(static_cast<std::size_t>(D));
  for (std::int64_t row = 0; row < heads * Tk; ++row) {
    in.k.read(row * D, key);
    for (std::int64_t d = 0; d < D; ++d) out[static_cast<std::size_t>(row / Tk * D + d)] += key[d];
  }
  for (double& x : out) x = static_cast<float>(x / static_cast<double>(Tk));
  return out;
}

}  // namespace

std::vector<GateRule> gate_rules(std::int64_t keys, double v_max) {
  const SplashWindow w = splash_window(keys, v_max);
  return {{"floor(W/2)", "none", "0", w.gate},
          {"C + 116 - ceil(log2 N)", "the realised maximum is at least 0", "2^-10", w.C + 116 - ceil_log2(keys)},
          {"C + 116", "keys centred exactly over the row's whole key set", "2^-10", w.C + 116},
          {"W", "as above", "about 1/2", w.W}};
}

void add_call(const SplashInput& given, const std::vector<GateRule>& rules, bool flush_to_zero,
              std::vector<GateLoss>& total) {
  total.resize(rules.size());
  SplashInput in = given;
  in.k_mean = means(in);
  const SplashWindow w = splash_window(in.count(), in.v_max);
  const SplashNorms norms = splash_norms(in);
  const std::int64_t H = in.q.shape[1], Hk = in.k.shape[1], Tq = in.q.shape[2], blocks = in.blocks();
  for (GateLoss& one : total) ++one.calls;
  std::vector<bool> fell(rules.size(), false);
  for (std::int64_t head = 0; head < in.q.shape[0] * H; ++head) {
    const auto kv = static_cast<std::size_t>(head / H * Hk + head % H / (H / Hk));
    for (std::int64_t n = 0; n < blocks; ++n) {
      const double U = std::sqrt(norms.query[static_cast<std::size_t>(head * blocks + n)] * norms.key[kv]);
      const bool fits = in.holds && norms.value[kv] <= in.v_max;
      LostMass worst;
      const bool any = fits && U <= rules.back().gate;
      for (std::int64_t i = n * in.block_q; any && i < std::min(Tq, (n + 1) * in.block_q); ++i) {
        const LostMass row = lost_mass(in, head * Tq + i, std::ceil(U) - w.C, true, flush_to_zero);
        worst.share = std::fmax(worst.share, row.share);
        worst.contribution = std::fmax(worst.contribution, row.contribution);
      }
      for (std::size_t r = 0; r < rules.size(); ++r) {
        ++total[r].entries;
        if (fits && U <= rules[r].gate) {
          total[r].lost_mass = std::fmax(total[r].lost_mass, worst.share);
          total[r].lost_contribution = std::fmax(total[r].lost_contribution, worst.contribution);
        } else {
          ++total[r].fallen;
          fell[r] = true;
        }
      }
    }
  }
  for (std::size_t r = 0; r < rules.size(); ++r) total[r].calls_with_any += fell[r] ? 1 : 0;
}

}  // namespace nbx::oracle
