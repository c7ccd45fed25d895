#include "contracts/families/splash_family.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "contracts/families/splash_instance.hpp"
#include "contracts/formats.hpp"
#include "oracle/output.hpp"

namespace nbx::contracts {
namespace {

const char* family_name(SplashRole role) {
  constexpr const char* names[] = {"splash_online", "splash_hybrid", "splash_uniform", "splash_metadata",
                                   "splash_dispatch"};
  return names[static_cast<int>(role)];
}

/// [2, H, nQ], or [B, 2, H, nQ] where there are several.
Shape mk_shape(const SplashProblem& p) {
  const std::int64_t blocks = (p.Tq + p.block_q - 1) / p.block_q;
  return p.B == 1 ? Shape{2, p.H, blocks} : Shape{p.B, 2, p.H, blocks};
}

/// Shift and flag as the exact bounds give them.
SharedBytes mk_bytes(const SplashProblem& p, const SplashData& data) {
  const auto blocks = data.shift.size() / static_cast<std::size_t>(p.B);
  std::vector<double> mk;
  for (std::size_t b = 0; b < static_cast<std::size_t>(p.B); ++b)
    for (const bool flag : {false, true})
      for (std::size_t i = 0; i < blocks; ++i) {
        const double shift = data.shift[b * blocks + i];
        mk.push_back(flag ? !std::isnan(shift) : std::isnan(shift) ? 0 : shift);
      }
  return f32_bytes(mk);
}

class SplashInstance final : public SplashInstanceBase {
 public:
  SplashInstance(const SplashProblem& problem, SplashRole role, DLDataType format, std::uint64_t seed)
      : problem_(problem), role_(role), data_(make_splash_data(problem, format, seed)) {
    call_ = splash_call(problem, role, data_);
    call_.family = family_name(role);
    for (const CallTensor& tensor : call_.tensors) {
      if (tensor.role == NBX_IN) continue;
      std::vector<std::string> axes;
      for (std::size_t axis = 0; axis < tensor.shape.size(); ++axis) axes.push_back(axis_name(tensor, axis));
      outputs_.push_back({tensor.name, tensor.dtype, tensor.shape, std::move(axes)});
    }
    if (role == SplashRole::uniform &&
        std::any_of(data_.shift.begin(), data_.shift.end(), [](double shift) { return std::isnan(shift); }))
      throw std::logic_error(problem_name(problem) + " is no problem of uniform kernels: a block is not eligible");
  }

  oracle::Evaluation evaluate(std::span<const oracle::Arithmetic> arithmetics) const override {
    oracle::Evaluation out;
    if (role_ != SplashRole::metadata) out = oracle::evaluate(input(), arithmetics);
    auto more = makes_metadata(role_)          ? metadata_outputs(problem_, role_, data_, arithmetics)
                : role_ == SplashRole::uniform ? sum_outputs(problem_, data_, out, arithmetics)
                                               : std::vector<oracle::Evaluation::Output>{};
    std::move(more.begin(), more.end(), std::back_inserter(out.outputs));
    return kept(std::move(out));
  }
  std::vector<Way> ways(std::string_view clause, bool full) const override {
    return splash_ways({.problem = problem_, .role = role_, .call = call_, .full = full}, clause);
  }
  OwnVerdict own(std::string_view clause, const Call& call, const std::vector<Bytes>& outputs) const override {
    if (clause == "gate1.centring") return judge_centring(problem_, data_, call, outputs, last());
    if (clause != "gate1.lost_mass") return {};
    return judge_lost_mass(problem_, role_, data_, call, outputs);
  }

  std::vector<std::pair<std::string, std::string>> behind(std::size_t output, std::int64_t element) const override {
    if (!is_attention(output)) return {};
    const std::int64_t row = output == 0 ? element / data_.v_shape[3] : element;
    const std::int64_t block = row / problem_.Tq * ((problem_.Tq + problem_.block_q - 1) / problem_.block_q) +
                               row % problem_.Tq / problem_.block_q;
    const auto at = static_cast<std::size_t>(block);
    std::vector<double> scores = oracle::scores_of_row(input(), row);
    std::sort(scores.begin(), scores.end());
    return {{"block", fmt::format("U = {:.6g}, gate {}: {}", data_.blocks[at].bound, data_.window.gate,
                                  std::isnan(data_.shift[at]) ? std::string("online")
                                                              : fmt::format("fixed at {}", data_.shift[at]))},
            {"scores", fmt::format("{:.6g} to {:.6g}, exponents of two", scores.front() / std::log(2.0),
                                   scores.back() / std::log(2.0))}};
  }

 private:
  bool attends() const override { return role_ != SplashRole::metadata; }

  static std::string axis_name(const CallTensor& tensor, std::size_t axis) {
    const std::size_t rank = tensor.shape.size();
    if (tensor.name.starts_with("mk")) {
      constexpr const char* names[] = {"batch", "part", "head", "block"};
      return names[axis + 4 - rank];
    }
    if (tensor.name.starts_with("k_")) return axis == 0 ? "batch" : axis == 1 ? "KV head" : "component";
    constexpr const char* names[] = {"batch", "head", "row", "column"};
    return axis == 2 && tensor.name == "q_norm2" ? "block" : names[axis];
  }

  oracle::AttentionInput input() const override {
    oracle::AttentionInput in = splash_attention(data_.input(problem_));
    if (role_ != SplashRole::online) in.fixed_shift = row_shifts(problem_, data_);
    return in;
  }

  const SplashProblem& problem_;
  SplashRole role_;
  SplashData data_;
};

class SplashFamily final : public Family {
 public:
  explicit SplashFamily(SplashRole role) : role_(role) {
    for (const SplashProblem& p : splash_table::problems) {
      const bool broken = p.plant == SplashPlant::broken_promise;
      if (role == SplashRole::uniform ? !p.uniform : broken) continue;
      // A block that is centred on equal keys has a bound of 0: nothing to flush.
      if (p.kind == SplashKind::flush && makes_metadata(role)) continue;
      ProblemInfo info = splash_problem_info(
          p, problem_name(p), std::string(kind_name(p.kind)) + "/" + plant_name(p.plant) + (p.ftz ? "/ftz" : ""));
      if (role == SplashRole::metadata) info.size_class = 0;
      problems_.push_back(std::move(info));
      rows_.push_back(&p);
    }
  }
  std::string_view name() const override { return family_name(role_); }
  std::span<const ProblemInfo> problems() const override { return problems_; }
  std::unique_ptr<Instance> make(std::size_t problem, DLDataType format, std::uint64_t seed) const override {
    return std::make_unique<SplashInstance>(*rows_[problem], role_, format, seed);
  }
  std::vector<Refusal> refusals(DLDataType format, std::uint64_t seed) const override {
    return splash_refusals(role_, small(format, seed));
  }
  std::vector<Edge> edges(DLDataType format, std::uint64_t seed) const override {
    return splash_edges(small(format, seed));
  }
  std::span<const std::string_view> optional_outputs() const override {
    static constexpr std::string_view names[] = {"mk_made", "k_mean_made"};
    return names;
  }

 private:
  /// q [1, 4, 16, 16], k and v [1, 2, 10, 16].
  Call small(DLDataType format, std::uint64_t seed) const {
    static constexpr SplashProblem problem{.H = 4, .Hk = 2, .Tq = 16, .Tk = 10, .D = 16, .block_q = 8};
    Call call = splash_call(problem, role_, make_splash_data(problem, format, seed));
    call.family = family_name(role_);
    return call;
  }

  SplashRole role_;
  std::vector<ProblemInfo> problems_;
  std::vector<const SplashProblem*> rows_;
};

}  // namespace

Call splash_call(const SplashProblem& p, SplashRole role, const SplashData& data) {
  const std::int64_t Dv = data.v_shape[3], blocks = (p.Tq + p.block_q - 1) / p.block_q;
  Call call;
  call.tensors = {input_tensor("q", data.format, data.q_shape, data.q),
                  input_tensor("k", data.format, data.k_shape, data.k),
                  input_tensor("v", data.format, data.v_shape, data.v)};
  const auto give = [&](const char* name, Shape shape, nbx_role as = NBX_OUT) {
    CallTensor tensor = output_tensor(name, f32_type, std::move(shape));
    tensor.role = as;
    call.tensors.push_back(std::move(tensor));
  };
  if (takes_metadata(role)) {
    call.tensors.push_back(input_tensor("mk", f32_type, mk_shape(p), mk_bytes(p, data)));
    call.tensors.push_back(input_tensor("k_mean", f32_type, {p.B, p.Hk, p.D}, f32_bytes(data.k_mean)));
  }
  if (role != SplashRole::metadata) call.tensors.push_back(output_tensor("o", data.format, {p.B, p.H, p.Tq, Dv}));
  if (role == SplashRole::uniform) {
    give("o_sum", {p.B, p.H, p.Tq, Dv}, NBX_PARTIAL);
    give("l", {p.B, p.H, p.Tq}, NBX_PARTIAL);
    give("m", {p.B, p.H, p.Tq}, NBX_PARTIAL);
  }
  if (makes_metadata(role)) {
    const bool dispatch = role == SplashRole::dispatch;
    give(dispatch ? "mk_made" : "mk", mk_shape(p));
    give(dispatch ? "k_mean_made" : "k_mean", {p.B, p.Hk, p.D});
  }
  if (role == SplashRole::metadata) {
    give("q_norm2", {p.B, p.H, blocks});
    give("k_norm2", {p.B, p.Hk});
    give("v_ok", {p.B, p.Hk});
  }
  call.params = {int_param("block_q", p.block_q)};
  if (p.per_head) call.params.push_back(int_param("per_head", 1));
  if (p.ftz) call.params.push_back(int_param("ftz", 1));
  return call;
}

const Family& splash_family(SplashRole role) {
  static const SplashFamily online(SplashRole::online), hybrid(SplashRole::hybrid), uniform(SplashRole::uniform),
      metadata(SplashRole::metadata), dispatch(SplashRole::dispatch);
  const SplashFamily* const all[] = {&online, &hybrid, &uniform, &metadata, &dispatch};
  return *all[static_cast<int>(role)];
}

}  // namespace nbx::contracts
