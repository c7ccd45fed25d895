// The right answers of splash outputs that are no attention: metadata and partial sums; and the mass that a shift
// loses.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "contracts/families/splash_family.hpp"
#include "contracts/formats.hpp"
#include "oracle/output.hpp"

namespace nbx::contracts {
namespace {

using Output = oracle::Evaluation::Output;
constexpr double ln2 = 0x1.62e42fefa39efp-1;
constexpr double inf = std::numeric_limits<double>::infinity();

/// Any number in [low, high] is right; NaN where `low` is.
void put_interval(Output& output, std::int64_t element, double low, double high) {
  if (std::isnan(low)) {
    oracle::fill_element(output, element, low, oracle::not_a_number);
    return;
  }
  const double middle = low == high ? low : low / 2 + high / 2;
  oracle::fill_element(output, element, middle, oracle::finite);
  const double half = low == high ? 0 : std::fmax(high - middle, middle - low) * (1 + 0x1p-50);
  for (oracle::Bounds& bounds : output.bounds) bounds.bound[static_cast<std::size_t>(element)] = half;
}

/// Per component, Σ |k| / N: what errors of a mean are relative to.
std::vector<double> mean_magnitudes(const SplashProblem& p, const SplashData& data) {
  std::vector<double> out(static_cast<std::size_t>(p.B * p.Hk * p.D), 0.0);
  for (std::int64_t i = 0; i < p.B * p.Hk * p.Tk * p.D; ++i)
    out[static_cast<std::size_t>(i / (p.Tk * p.D) * p.D + i % p.D)] +=
        std::fabs(value_at(*data.k, data.format, i)) / static_cast<double>(p.Tk);
  return out;
}

/// The most that a mean of `count` terms may be off by, each passing at most `depth` additions, and one division; and
/// half an ulp that the reference's own mean is rounded by.
double mean_error(double magnitude, double depth) {
  return magnitude * ((depth + 3) * 0x1p-24) * (1 + 0x1p-10) + 0x1p-148;
}

/// U of a block with a mean that is off by up to `error`, as a norm: U ± ‖q‖ · error, and rounded upward.
struct Range {
  double low, high;
};

void put_block(const SplashData& data, const oracle::SplashBlock& block, const Range& U, Output& mk, std::int64_t shift,
               std::int64_t flag) {
  const auto C = static_cast<double>(data.window.C), gate = static_cast<double>(data.window.gate);
  // Eligible in all but its U: v_ok and known scores. A block whose U alone is too large has most = 0 as well.
  const bool may = block.eligible || (std::isfinite(U.low) && U.low <= gate && block.bound > gate);
  const bool must = block.eligible && !block.either && U.high <= gate;
  const auto ceil_of = [&](double x) { return std::fmin(std::ceil(std::fmax(x, 0.0)), gate) - C; };
  const double low =
      std::fmin(ceil_of(U.low), static_cast<double>(block.eligible ? block.least : data.window.gate) - C);
  const double high =
      std::fmax(ceil_of(U.high), static_cast<double>(block.eligible ? block.most : data.window.gate) - C);
  put_interval(mk, flag, must ? 1 : 0, may ? 1 : 0);
  if (must)
    put_interval(mk, shift, low, high);
  else
    put_interval(mk, shift, may ? std::fmin(low, 0) : 0, may ? std::fmax(high, 0) : 0);
}

}  // namespace

std::vector<double> row_shifts(const SplashProblem& p, const SplashData& data) {
  const std::int64_t blocks = (p.Tq + p.block_q - 1) / p.block_q;
  std::vector<double> out;
  for (std::int64_t row = 0; row < p.B * p.H * p.Tq; ++row) {
    const std::int64_t head = row / p.Tq, kv = head / p.H * p.Hk + head % p.H / (p.H / p.Hk);
    double m = data.shift[static_cast<std::size_t>(head * blocks + row % p.Tq / p.block_q)];
    for (std::int64_t d = 0; d < p.D; ++d)
      m += value_at(*data.q, data.format, row * p.D + d) * data.k_mean[static_cast<std::size_t>(kv * p.D + d)];
    out.push_back(m);
  }
  return out;
}

std::vector<Output> metadata_outputs(const SplashProblem& p, SplashRole role, const SplashData& data,
                                     std::span<const oracle::Arithmetic> arithmetics) {
  const std::int64_t blocks = (p.Tq + p.block_q - 1) / p.block_q, n = arithmetics.size();
  const oracle::SplashInput input = data.input(p);
  const oracle::SplashNorms norms = oracle::splash_norms(input);
  const std::vector<double> magnitudes = mean_magnitudes(p, data);
  const double slack = oracle::norm_slack(p.D), radius = oracle::norm_radius(p.D);
  const bool dispatch = role == SplashRole::dispatch;
  const auto make = [&](const char* name, std::vector<std::int64_t> shape) {
    return oracle::make_output(name, std::move(shape), static_cast<std::size_t>(n));
  };
  Output mk = make(dispatch ? "mk_made" : "mk", p.B == 1 ? Shape{2, p.H, blocks} : Shape{p.B, 2, p.H, blocks});
  Output mean = make(dispatch ? "k_mean_made" : "k_mean", {p.B, p.Hk, p.D});
  std::vector<double> off(static_cast<std::size_t>(p.B * p.Hk), 0.0);  // norm of the error of k_mean
  for (std::size_t i = 0; i < magnitudes.size(); ++i) {
    const double any_order = mean_error(magnitudes[i], static_cast<double>(p.Tk));
    off[i / static_cast<std::size_t>(p.D)] += any_order * any_order;
    const double x = data.k_mean[i];
    put_interval(mean, static_cast<std::int64_t>(i), x, x);
    if (std::isnan(x)) continue;
    for (std::size_t a = 0; a < arithmetics.size(); ++a)
      mean.bounds[a].bound[i] =
          dispatch ? any_order : mean_error(magnitudes[i], static_cast<double>(arithmetics[a].sum_depth));
  }
  for (double& square : off) square = std::sqrt(square) * (1 + 0x1p-20);
  for (std::int64_t b = 0; b < p.B; ++b)
    for (std::int64_t h = 0; h < p.H; ++h)
      for (std::int64_t i = 0; i < blocks; ++i) {
        const auto at = static_cast<std::size_t>((b * p.H + h) * blocks + i);
        const auto kv = static_cast<std::size_t>(b * p.Hk + h / (p.H / p.Hk));
        const double q_norm = std::sqrt(norms.query[at]), k_norm = std::sqrt(norms.key[kv]);
        const Range U{q_norm * (k_norm - off[kv]) * (1 - 4 * radius),
                      q_norm * (k_norm + off[kv]) * (1 + slack) * (1 + 0x1p-20) + 0x1p-60};
        const std::int64_t shift = (b * 2 * p.H + h) * blocks + i;
        put_block(data, data.blocks[at], U, mk, shift, shift + p.H * blocks);
      }
  std::vector<Output> out{std::move(mk), std::move(mean)};
  if (dispatch) return out;
  // Norms: no less than the exact ones, and no more than slack above.
  Output q2 = make("q_norm2", {p.B, p.H, blocks}), k2 = make("k_norm2", {p.B, p.Hk}), fits = make("v_ok", {p.B, p.Hk});
  oracle::SplashInput by_block = input;  // each block's own norm, whatever bound the flags take
  by_block.per_head = false;
  const std::vector<double> queries = p.per_head ? oracle::splash_norms(by_block).query : norms.query;
  for (std::int64_t i = 0; i < p.B * p.H * blocks; ++i) {
    const double exact = queries[static_cast<std::size_t>(i)];
    put_interval(q2, i, exact * (1 - radius), exact * (1 + slack) + 0x1p-120);
  }
  for (std::int64_t kv = 0; kv < p.B * p.Hk; ++kv) {
    const auto at = static_cast<std::size_t>(kv);
    const double norm = std::sqrt(norms.key[at]), low = std::fmax(norm - off[at], 0.0), high = norm + off[at];
    if (std::isnan(norm))
      put_interval(k2, kv, norm, norm);
    else
      put_interval(k2, kv, low * low * (1 - 4 * radius), high * high * (1 + slack) * (1 + 4 * radius) + 0x1p-120);
    const double ok = input.holds && norms.value[at] <= input.v_max ? 1 : 0;
    put_interval(fits, kv, ok, ok);
  }
  for (Output* one : {&q2, &k2, &fits}) out.push_back(std::move(*one));
  return out;
}

std::vector<Output> sum_outputs(const SplashProblem& p, const SplashData& data, const oracle::Evaluation& attention,
                                std::span<const oracle::Arithmetic> arithmetics) {
  const std::int64_t Dv = data.v_shape[3], rows = p.B * p.H * p.Tq;
  const std::vector<double> shifts = row_shifts(p, data);
  const Output &o = attention.outputs[0], &lse = attention.outputs[1];
  Output sum = oracle::make_output("o_sum", {p.B, p.H, p.Tq, Dv}, arithmetics.size());
  Output l = oracle::make_output("l", {p.B, p.H, p.Tq}, arithmetics.size());
  Output m = oracle::make_output("m", {p.B, p.H, p.Tq}, arithmetics.size());
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto r = static_cast<std::size_t>(row);
    const std::int64_t head = row / p.Tq, kv = head / p.H * p.Hk + head % p.H / (p.H / p.Hk);
    double magnitude = 0;
    for (std::int64_t d = 0; d < p.D; ++d)
      magnitude += std::fabs(value_at(*data.q, data.format, row * p.D + d) *
                             data.k_mean[static_cast<std::size_t>(kv * p.D + d)]);
    // l = e^LSE / 2^m; exp and the product cost less than 2^-40.
    const double of_l = std::exp(lse.expected.value[r] - shifts[r] * ln2);
    const double known = std::expm1(lse.expected.radius[r]) + 0x1p-40;
    for (Output* one : {&l, &m}) one->expected.classes[r] = oracle::finite;
    m.expected.value[r] = shifts[r];
    m.expected.radius[r] = (magnitude + std::fabs(shifts[r])) * 0x1p-42;
    l.expected.value[r] = of_l;
    l.expected.radius[r] = of_l * known;
    for (std::size_t a = 0; a < arithmetics.size(); ++a) {
      // The chain of D fma from +0, one addition; then each flushed.
      const double tiny = static_cast<double>(p.D + 1) * (arithmetics[a].flush_to_zero ? 0x1p-126 : 0x1p-150);
      const double of_m =
          magnitude * static_cast<double>(p.D + 1) * 0x1p-24 * (1 + 0x1p-10) + std::fabs(shifts[r]) * 0x1p-24 + tiny;
      m.bounds[a].bound[r] = of_m;
      // l' 2^m' lies within the LSE's bound of l 2^m.
      const double relative = std::expm1(lse.bounds[a].bound[r] + of_m * ln2) * (1 + 0x1p-30);
      l.bounds[a].bound[r] = of_l * relative;
      for (Output* one : {&l, &m}) one->bounds[a].classes[r] = oracle::finite;
      for (std::int64_t d = 0; d < Dv; ++d) {
        const auto e = static_cast<std::size_t>(row * Dv + d);
        const double of_o = std::fabs(o.expected.value[e]);
        // o' l' against o l, where o' is within o's bound before and after its last roundings.
        sum.expected.value[e] = o.expected.value[e] * of_l;
        sum.expected.radius[e] = of_l * (o.expected.radius[e] * (1 + known) + of_o * known) + 0x1p-1000;
        sum.expected.classes[e] = oracle::finite;
        sum.bounds[a].bound[e] = of_l * (o.bounds[a].bound[e] * (1 + relative) + of_o * relative);
        sum.bounds[a].classes[e] = o.bounds[a].classes[e];
        sum.bounds[a].open[e] = o.bounds[a].open[e];
      }
    }
  }
  std::vector<Output> out;
  for (Output* one : {&sum, &l, &m}) out.push_back(std::move(*one));
  return out;
}

OwnVerdict judge_lost_mass(const SplashProblem& p, SplashRole role, const SplashData& data, const Call& call,
                           const std::vector<Bytes>& outputs) {
  if (!makes_metadata(role) && role != SplashRole::uniform) return {};
  std::map<std::string, const Bytes*> by_name;
  std::size_t next = 0;
  for (const CallTensor& tensor : call.tensors)
    if (tensor.role != NBX_IN) by_name[tensor.name] = &outputs.at(next++);
  const bool dispatch = role == SplashRole::dispatch;
  oracle::SplashInput input = data.input(p);
  if (makes_metadata(role)) {
    const Bytes& mean = *by_name.at(dispatch ? "k_mean_made" : "k_mean");
    for (std::size_t i = 0; i < input.k_mean.size(); ++i)
      input.k_mean[i] = value_at(mean, f32_type, static_cast<std::int64_t>(i));
  }
  const std::int64_t blocks = input.blocks();
  OwnVerdict verdict;
  double worst = 0, contribution = 0, least = inf, most = -inf;
  std::int64_t fixed = 0;
  for (std::int64_t row = 0; row < p.B * p.H * p.Tq; ++row) {
    const std::int64_t head = row / p.Tq, b = head / p.H, h = head % p.H, block = row % p.Tq / p.block_q;
    double shift = 0;
    if (role == SplashRole::uniform) {
      shift = value_at(*by_name.at("m"), f32_type, row);
    } else {
      const Bytes& mk = *by_name.at(dispatch ? "mk_made" : "mk");
      const std::int64_t at = (b * 2 * p.H + h) * blocks + block;
      if (value_at(mk, f32_type, at + p.H * blocks) != 1) continue;
      shift = value_at(mk, f32_type, at);
    }
    ++fixed;
    const oracle::LostMass lost = oracle::lost_mass(input, row, shift, role != SplashRole::uniform, p.ftz);
    contribution = std::fmax(contribution, lost.contribution);
    least = std::fmin(least, lost.least);
    most = std::fmax(most, lost.most);
    worst = std::fmax(worst, lost.share);
    // m of a uniform kernel is rounded: half a unit on each side.
    const double room = role == SplashRole::uniform ? 0.5 : 0x1p-30;
    const bool holds = lost.lost == 0 && lost.least >= -125 - room && lost.most <= data.window.C + room;
    if (holds || !verdict.wrong.empty()) continue;
    verdict.wrong = {
        {"wrong", fmt::format("row {} of head {} of batch entry {} loses {:.6g} of its mass ({} of {} keys), ftz {}",
                              row % p.Tq, h, b, lost.share, lost.lost, p.Tk, p.ftz ? "on" : "off")},
        {"window", fmt::format("weights are 2^{:.6g} to 2^{:.6g}; they may be 2^-125 to 2^{}", lost.least, lost.most,
                               data.window.C)},
        {"block", fmt::format("U = {:.6g}, gate {}, W {}: shift {}",
                              data.blocks[static_cast<std::size_t>(head * blocks + block)].bound, data.window.gate,
                              data.window.W, shift)}};
  }
  verdict.asked = fixed > 0;
  verdict.detail = {{"lost mass", fmt::format("{:.6g} at most, in {} rows of a fixed shift, ftz {}", worst, fixed,
                                              p.ftz ? "on" : "off")},
                    {"contribution", fmt::format("{:.6g} at most: |p v| that vanishes, over l", contribution)},
                    {"window", fmt::format("weights are 2^{:.6g} to 2^{:.6g}", least, most)}};
  return verdict;
}

}  // namespace nbx::contracts
