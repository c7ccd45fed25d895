// The right answers of what a ring says of its flags, and the mass that its shifts lose.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "contracts/families/splash_ring_family.hpp"
#include "contracts/formats.hpp"
#include "oracle/output.hpp"

namespace nbx::contracts {
namespace {

using Output = oracle::Evaluation::Output;

/// Any number in [low, high].
void put_interval(Output& output, std::int64_t element, double low, double high) {
  oracle::fill_element(output, element, low / 2 + high / 2, oracle::finite);
  for (oracle::Bounds& bounds : output.bounds)
    bounds.bound[static_cast<std::size_t>(element)] = low == high ? 0 : (high - low) / 2 * (1 + 0x1p-50);
}

/// Element of mk_made [1 + ranks, B, 2, H, nQ].
std::int64_t place(const SplashProblem& w, std::int64_t blocks, std::size_t entry, std::int64_t head, bool flag,
                   std::int64_t block) {
  const std::int64_t b = head / w.H, h = head % w.H;
  return (((static_cast<std::int64_t>(entry) * w.B + b) * 2 + (flag ? 1 : 0)) * w.H + h) * blocks + block;
}

}  // namespace

std::vector<Output> ring_flag_outputs(const SplashRingProblem& p, const SplashRingData& data, std::size_t arithmetics) {
  const SplashProblem& w = p.whole;
  const std::int64_t blocks = w.Tq / w.block_q;
  Output mk = oracle::make_output("mk_made", {1 + p.ranks, w.B, 2, w.H, blocks}, arithmetics);
  Output uniform = oracle::make_output("uniform_made", {p.ranks}, arithmetics);
  for (std::size_t entry = 0; entry < data.blocks.size(); ++entry)
    for (std::int64_t i = 0; i < w.B * w.H * blocks; ++i) {
      const oracle::SplashBlock& block = data.blocks[entry][static_cast<std::size_t>(i)];
      const double C = data.window[entry].C, flag = block.eligible ? 1 : 0;
      put_interval(mk, place(w, blocks, entry, i / blocks, true, i % blocks), flag, flag);
      put_interval(mk, place(w, blocks, entry, i / blocks, false, i % blocks), block.eligible ? block.least - C : 0,
                   block.eligible ? block.most - C : 0);
    }
  for (std::int64_t r = 0; r < p.ranks; ++r) put_interval(uniform, r, data.uniform, data.uniform);
  std::vector<Output> out;
  out.push_back(std::move(mk));
  out.push_back(std::move(uniform));
  return out;
}

OwnVerdict judge_ring_mass(const SplashRingProblem& p, const SplashRingData& data, const Call& call,
                           const std::vector<Bytes>& outputs) {
  const SplashProblem& w = p.whole;
  const Bytes *mk = nullptr, *uniform = nullptr;
  std::size_t next = 0;
  for (const CallTensor& tensor : call.tensors) {
    if (tensor.role == NBX_IN) continue;
    if (tensor.name == "mk_made") mk = &outputs.at(next);
    if (tensor.name == "uniform_made") uniform = &outputs.at(next);
    ++next;
  }
  if (mk == nullptr || uniform == nullptr) return {};
  const std::int64_t blocks = w.Tq / w.block_q, of_rank = w.Tq / p.ranks;
  OwnVerdict verdict;
  double worst = 0, least = std::numeric_limits<double>::infinity(), most = -least;
  std::int64_t fixed = 0;
  for (std::size_t entry = 0; entry < data.blocks.size(); ++entry) {
    if (entry > 0 && data.keys[entry - 1] == 0) continue;
    const oracle::SplashInput input = data.input(p, static_cast<int>(entry) - 1);
    for (std::int64_t row = 0; row < w.B * w.H * w.Tq; ++row) {
      const std::int64_t head = row / w.Tq, block = row % w.Tq / w.block_q;
      const bool one_shift = value_at(*uniform, f32_type, row % w.Tq / of_rank) == 1;
      const bool pinned = value_at(*mk, f32_type, place(w, blocks, entry, head, true, block)) == 1;
      if (one_shift != (entry == 0) || !(one_shift || pinned)) continue;
      ++fixed;
      const double shift = value_at(*mk, f32_type, place(w, blocks, entry, head, false, block));
      const oracle::LostMass lost = oracle::lost_mass(input, row, shift, true, w.ftz);
      worst = std::fmax(worst, lost.share);
      least = std::fmin(least, lost.least);
      most = std::fmax(most, lost.most);
      const bool holds = lost.lost == 0 && lost.least >= -125 - 0x1p-30 && lost.most <= data.window[entry].C + 0x1p-30;
      if (holds || !verdict.wrong.empty()) continue;
      verdict.wrong = {{"wrong", fmt::format("row {} of head {} loses {:.6g} of its mass under {} ({} keys), ftz {}",
                                             row % w.Tq, head, lost.share,
                                             entry == 0 ? std::string("the shift of all keys")
                                                        : fmt::format("that of shard {}", entry - 1),
                                             lost.lost, w.ftz ? "on" : "off")},
                       {"window", fmt::format("weights are 2^{:.6g} to 2^{:.6g}; they may be 2^-125 to 2^{}",
                                              lost.least, lost.most, data.window[entry].C)}};
    }
  }
  verdict.asked = fixed > 0;
  verdict.detail = {{"lost mass", fmt::format("{:.6g} at most, in {} rows and hops of a fixed shift", worst, fixed)},
                    {"window", fmt::format("weights are 2^{:.6g} to 2^{:.6g}", least, most)}};
  return verdict;
}

}  // namespace nbx::contracts
