#include "contracts/families/splash_ring_family.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "contracts/families/splash_family.hpp"
#include "contracts/families/splash_instance.hpp"

namespace nbx::contracts {
namespace {

class RingInstance final : public SplashInstanceBase {
 public:
  RingInstance(const SplashRingProblem& problem, bool fixed, DLDataType format, std::uint64_t seed)
      : problem_(problem), fixed_(fixed), data_(make_ring_data(problem, format, seed)) {
    if (data_.either) throw std::logic_error(problem_name(problem) + ": a flag may be right either way");
    call_ = ring_call(problem, fixed, data_, data_.capacity);
    for (const CallTensor& tensor : call_.tensors) {
      if (tensor.role == NBX_IN) continue;
      std::vector<std::string> axes{"batch", "head", "row", "column"};
      if (tensor.name == "mk_made") axes = {"entry", "batch", "part", "head", "block"};
      if (tensor.name == "uniform_made") axes = {"rank"};
      outputs_.push_back({tensor.name, tensor.dtype, tensor.shape, std::move(axes)});
    }
  }

  oracle::Evaluation evaluate(std::span<const oracle::Arithmetic> arithmetics) const override {
    oracle::Evaluation out = oracle::evaluate(input(), arithmetics);
    if (fixed_)
      for (auto& more : ring_flag_outputs(problem_, data_, arithmetics.size())) out.outputs.push_back(std::move(more));
    return kept(std::move(out));
  }
  std::vector<Way> ways(std::string_view clause, bool) const override {
    return ring_ways(problem_, fixed_, data_, clause);
  }
  OwnVerdict own(std::string_view clause, const Call& call, const std::vector<Bytes>& outputs) const override {
    if (clause == "gate1.centring") return judge_centring(problem_.whole, data_.whole, call, outputs, last());
    if (clause == "gate1.lost_mass" && fixed_) return judge_ring_mass(problem_, data_, call, outputs);
    return {};
  }
  /// A ring of one rank is the kernel without a ring: under the same metadata, if no rounding of norms may change it.
  std::optional<Call> call_as(std::string_view family) const override {
    if (family == call_.family) return call_;
    const SplashRole role = fixed_ ? SplashRole::hybrid : SplashRole::online;
    if (problem_.ranks != 1 || family != (fixed_ ? "splash_hybrid" : "splash_online")) return std::nullopt;
    for (const oracle::SplashBlock& block : data_.blocks[0])
      if (block.least != block.most) return std::nullopt;
    Call out = splash_call(problem_.whole, role, data_.whole);
    out.family = family;
    return out;
  }

  std::vector<std::pair<std::string, std::string>> behind(std::size_t output, std::int64_t element) const override {
    if (output >= 2) return {};
    const SplashProblem& w = problem_.whole;
    const std::int64_t row = output == 0 ? element / data_.whole.v_shape[3] : element;
    const auto block = static_cast<std::size_t>(row / w.Tq * (w.Tq / w.block_q) + row % w.Tq / w.block_q);
    std::string text =
        fmt::format("U = {:.6g} by all keys, gate {}", data_.blocks[0][block].bound, data_.window[0].gate);
    for (std::size_t r = 1; r < data_.blocks.size(); ++r)
      text += fmt::format("; {:.6g} by shard {}, gate {}", data_.blocks[r][block].bound, r - 1, data_.window[r].gate);
    return {{"block", text}, {"rank", fmt::format("{}", row % w.Tq / (w.Tq / problem_.ranks))}};
  }

 private:
  oracle::AttentionInput input() const override {
    oracle::AttentionInput in = splash_attention(data_.input(problem_, -1));
    if (fixed_) in.fixed_shift = ring_shifts(problem_, data_);
    return in;
  }

  const SplashRingProblem& problem_;
  bool fixed_;
  SplashRingData data_;
};

class RingFamily final : public Family {
 public:
  explicit RingFamily(bool fixed) : fixed_(fixed) {
    for (const SplashRingProblem& p : splash_ring_table::problems) {
      problems_.push_back(
          splash_problem_info(p.whole, problem_name(p),
                              fmt::format("{}/{}/{}", kind_name(p.whole.kind), plant_name(p.whole.plant), p.ranks)));
    }
  }
  std::string_view name() const override { return fixed_ ? "splash_ring" : "splash_ring_online"; }
  std::span<const ProblemInfo> problems() const override { return problems_; }
  std::unique_ptr<Instance> make(std::size_t problem, DLDataType format, std::uint64_t seed) const override {
    return std::make_unique<RingInstance>(splash_ring_table::problems[problem], fixed_, format, seed);
  }
  std::vector<Refusal> refusals(DLDataType format, std::uint64_t seed) const override {
    return ring_refusals(fixed_, small(format, seed));
  }
  std::vector<Edge> edges(DLDataType format, std::uint64_t seed) const override {
    return splash_edges(small(format, seed));
  }
  std::span<const std::string_view> optional_outputs() const override {
    static constexpr std::string_view names[] = {"mk_made", "uniform_made"};
    return names;
  }

 private:
  /// Two ranks: q [1, 4, 8, 16], k and v [1, 2, 5, 16] each.
  Call small(DLDataType format, std::uint64_t seed) const {
    static constexpr SplashRingProblem problem{.whole = {.H = 4, .Hk = 2, .Tq = 16, .Tk = 10, .D = 16, .block_q = 8},
                                               .ranks = 2};
    const SplashRingData data = make_ring_data(problem, format, seed);
    return ring_call(problem, fixed_, data, data.capacity);
  }

  bool fixed_;
  std::vector<ProblemInfo> problems_;
};

}  // namespace

const Family& splash_ring_family(bool fixed) {
  static const RingFamily with_shift(true), online(false);
  return fixed ? with_shift : online;
}

}  // namespace nbx::contracts
