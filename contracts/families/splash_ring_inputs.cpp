// The inputs of a ring: the problem of all keys, cut into shards, with the norms that travel.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "contracts/families/splash_ring_family.hpp"
#include "contracts/formats.hpp"

namespace nbx::contracts {
namespace {

/// The keys [first, first + count) of every (batch, KV head) of a dense [heads, Tk, dim].
SharedBytes keys_of(const Bytes& all, std::size_t width, std::int64_t heads, std::int64_t Tk, std::int64_t dim,
                    std::int64_t first, std::int64_t count) {
  const std::int64_t row = dim * static_cast<std::int64_t>(width);
  auto out = std::make_shared<Bytes>();
  for (std::int64_t head = 0; head < heads; ++head) {
    const auto begin = all.begin() + (head * Tk + first) * row;
    out->insert(out->end(), begin, begin + count * row);
  }
  return out;
}

/// The least fp32 number that is surely no less than x ≥ 0, which is known to 2^-30; NaN as it is.
double rounded_up(double x) {
  const auto nearest = static_cast<float>(x * (1 + 0x1p-28));
  return x == 0 ? 0 : std::nextafter(nearest, std::numeric_limits<float>::infinity());
}

}  // namespace

std::string problem_name(const SplashRingProblem& p) {
  std::string name = fmt::format("R={}", p.ranks);
  for (int i = 0; p.empty >= 0 && i < p.empties; ++i) name += fmt::format(",empty={}", p.empty + i);
  if (p.centred) name += ",centred";
  if (p.pregathered) name += ",pregathered";
  return name + "," + problem_name(p.whole);
}

oracle::SplashInput SplashRingData::input(const SplashRingProblem& p, int shard) const {
  oracle::SplashInput out = whole.input(p.whole);
  if (shard < 0) return out;
  const auto at = static_cast<std::size_t>(shard);
  out.k.bytes = *k[at];
  out.v.bytes = *v[at];
  out.k.shape[2] = out.v.shape[2] = keys[at];
  return out;
}

SplashRingData make_ring_data(const SplashRingProblem& p, DLDataType format, std::uint64_t seed) {
  SplashRingData data;
  data.whole = make_splash_data(p.whole, format, seed);
  if (!p.centred) {
    std::fill(data.whole.k_mean.begin(), data.whole.k_mean.end(), 0.0);
    data.whole.blocks = oracle::splash_blocks(data.whole.input(p.whole));
    for (std::size_t i = 0; i < data.whole.blocks.size(); ++i)
      data.whole.shift[i] = data.whole.blocks[i].eligible ? data.whole.blocks[i].least - data.whole.window.C
                                                          : std::numeric_limits<double>::quiet_NaN();
  }
  const SplashProblem& w = p.whole;
  const std::int64_t filled = p.ranks - (p.empty >= 0 ? p.empties : 0), heads = w.B * w.Hk, Dv = data.whole.v_shape[3];
  data.capacity = (w.Tk + filled - 1) / filled;
  data.window.push_back(data.whole.window);
  data.blocks.push_back(data.whole.blocks);
  std::int64_t first = 0;
  bool fits = true;
  for (int r = 0; r < p.ranks; ++r) {
    const bool empty = p.empty >= 0 && r >= p.empty && r < p.empty + p.empties;
    const std::int64_t count = empty ? 0 : std::min(data.capacity, w.Tk - first);
    data.keys.push_back(count);
    data.k.push_back(keys_of(*data.whole.k, format.bits / 8U, heads, w.Tk, w.D, first, count));
    data.v.push_back(keys_of(*data.whole.v, format.bits / 8U, heads, w.Tk, Dv, first, count));
    first += count;
    data.window.push_back(oracle::splash_window(std::max<std::int64_t>(count, 1), 256));
    if (count == 0) {
      data.blocks.push_back({});
      data.k_norm2.insert(data.k_norm2.end(), static_cast<std::size_t>(heads), 0.0);
      data.v_ok.insert(data.v_ok.end(), static_cast<std::size_t>(heads), 1.0);
      continue;
    }
    const oracle::SplashInput input = data.input(p, r);
    const oracle::SplashNorms norms = oracle::splash_norms(input);
    for (std::size_t kv = 0; kv < norms.key.size(); ++kv) {
      data.k_norm2.push_back(rounded_up(norms.key[kv]));
      data.v_ok.push_back(norms.value[kv] <= input.v_max ? 1 : 0);
      fits = fits && norms.value[kv] <= input.v_max;
    }
    data.blocks.push_back(oracle::splash_blocks(input));
  }
  data.uniform = true;
  for (std::vector<oracle::SplashBlock>& list : data.blocks) {
    // Without a key the norm is 0: eligible, and of no consequence.
    if (list.empty()) list.assign(data.whole.blocks.size(), {.eligible = true, .either = false, .bound = 0});
    for (oracle::SplashBlock& block : list) {
      block.eligible = block.eligible && fits;
      data.either = data.either || (block.eligible && block.either);
    }
  }
  for (const oracle::SplashBlock& block : data.blocks[0]) data.uniform = data.uniform && block.eligible;
  return data;
}

std::vector<double> ring_shifts(const SplashRingProblem& p, const SplashRingData& data) {
  const SplashProblem& w = p.whole;
  const std::int64_t blocks = w.Tq / w.block_q;
  std::vector<double> out;
  for (std::int64_t row = 0; row < w.B * w.H * w.Tq; ++row) {
    const std::int64_t head = row / w.Tq, kv = head / w.H * w.Hk + head % w.H / (w.H / w.Hk);
    const auto block = static_cast<std::size_t>(head * blocks + row % w.Tq / w.block_q);
    double q_mean = 0, largest = std::numeric_limits<double>::quiet_NaN();
    for (std::int64_t d = 0; d < w.D; ++d)
      q_mean += value_at(*data.whole.q, data.whole.format, row * w.D + d) *
                data.whole.k_mean[static_cast<std::size_t>(kv * w.D + d)];
    for (std::size_t entry = data.uniform ? 0 : 1; entry < (data.uniform ? 1 : data.blocks.size()); ++entry) {
      if (!data.blocks[entry][block].eligible || (entry > 0 && data.keys[entry - 1] == 0)) continue;
      largest = std::fmax(largest, data.blocks[entry][block].least - data.window[entry].C + q_mean);
    }
    out.push_back(largest);
  }
  return out;
}

}  // namespace nbx::contracts
