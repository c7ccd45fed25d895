// Attention (math, chunked, and what streams) as the contracts know it.
#include "contracts/families/attention_family.hpp"

#include <fmt/format.h>

#include "contracts/dense.hpp"
#include "contracts/families/attention_inputs.hpp"
#include "contracts/families/attention_refusals.hpp"
#include "contracts/families/attention_ways.hpp"
#include "contracts/families/score_lines.hpp"
#include "contracts/formats.hpp"

namespace nbx::contracts {
namespace {

const char* causal_text(oracle::Causal causal) {
  return causal == oracle::Causal::none ? "none" : causal == oracle::Causal::top_left ? "top_left" : "bottom_right";
}

class AttentionInstance final : public Instance {
 public:
  AttentionInstance(const AttentionProblem& problem, AttentionData data) : problem_(problem), data_(std::move(data)) {
    const DLDataType format = data_.format;
    const Shape o{problem.B, problem.H, problem.Tq, data_.v_shape[3]};
    const Shape lse{problem.B, problem.H, problem.Tq};
    call_.family = "attention";
    call_.tensors = {input_tensor("q", format, data_.q_shape, data_.q),
                     input_tensor("k", format, data_.k_shape, data_.k),
                     input_tensor("v", format, data_.v_shape, data_.v)};
    if (data_.bias) call_.tensors.push_back(input_tensor("bias", data_.bias_format, *data_.bias_shape, data_.bias));
    call_.tensors.push_back(output_tensor("o", format, o));
    call_.tensors.push_back(output_tensor("lse", f32_type, lse));
    call_.params = {text_param("causal", causal_text(problem.causal))};
    if (problem.scale != 0) call_.params.push_back(real_param("scale", problem.scale));
    outputs_ = {{"o", format, o, {"batch", "head", "row", "column"}}, {"lse", f32_type, lse, {"batch", "head", "row"}}};
  }

  oracle::Evaluation evaluate(std::span<const oracle::Arithmetic> arithmetics) const override {
    return oracle::evaluate(input(), arithmetics);
  }
  oracle::Refine refiner() const override { return oracle::refiner(input()); }
  oracle::BoundParts parts(const oracle::Arithmetic& arithmetic, std::size_t output,
                           std::int64_t element) const override {
    return oracle::bound_parts(input(), arithmetic, output, element);
  }
  std::vector<std::vector<double>> mutate(oracle::Mutant mutant, std::uint64_t position) const override {
    return oracle::mutate(input(), mutant, position);
  }
  std::vector<Way> ways(std::string_view clause, bool full) const override {
    return attention_ways({.problem = problem_, .call = call_, .full = full}, clause);
  }

  std::vector<std::pair<std::string, std::string>> behind(std::size_t output, std::int64_t element) const override {
    const std::int64_t row = output == 0 ? element / data_.v_shape[3] : element;
    return score_lines(oracle::scores_of_row(input(), row));
  }

 private:
  oracle::AttentionInput input() const {
    const auto view = [](const SharedBytes& bytes, DLDataType type, const Shape& shape) {
      return oracle::View{.bytes = *bytes, .format = *oracle_format(type), .shape = shape};
    };
    oracle::AttentionInput in{.q = view(data_.q, data_.format, data_.q_shape),
                              .k = view(data_.k, data_.format, data_.k_shape),
                              .v = view(data_.v, data_.format, data_.v_shape),
                              .bias = {},
                              .causal = problem_.causal,
                              .scale = {},
                              .lengths = {}};
    if (data_.bias) {
      Shape shape = *data_.bias_shape;  // to [B, H, Tq, Tk]
      if (shape.size() == 3) shape.insert(shape.begin() + 1, 1);
      while (shape.size() < 4) shape.insert(shape.begin(), 1);
      in.bias = view(data_.bias, data_.bias_format, shape);
    }
    if (problem_.scale != 0) in.scale = problem_.scale;
    return in;
  }

  const AttentionProblem& problem_;
  AttentionData data_;
};

class AttentionFamily final : public Family {
 public:
  AttentionFamily() {
    for (const AttentionProblem& p : attention_table::problems) {
      ProblemInfo info;
      info.name = problem_name(p);
      info.kind = std::string(kind_name(p.kind)) + "/" + plant_name(p.plant);
      info.tier = p.tier;
      info.equality = p.equality;
      info.size_class = p.size_class;
      info.work = p.B * p.H * p.Tq * p.Tk * (p.D + (p.Dv ? p.Dv : p.D));
      problems_.push_back(std::move(info));
    }
  }
  std::string_view name() const override { return "attention"; }
  std::span<const ProblemInfo> problems() const override { return problems_; }
  std::unique_ptr<Instance> make(std::size_t problem, DLDataType format, std::uint64_t seed) const override {
    const AttentionProblem& p = attention_table::problems[problem];
    return make_attention(p, make_attention_data(p, format, seed));
  }
  std::vector<Refusal> refusals(DLDataType format, std::uint64_t seed) const override {
    return attention_refusals(format, seed);
  }
  std::vector<Edge> edges(DLDataType format, std::uint64_t seed) const override {
    return attention_edges(format, seed);
  }
  std::span<const std::string_view> optional_outputs() const override {
    static constexpr std::string_view names[] = {"lse"};
    return names;
  }

 private:
  std::vector<ProblemInfo> problems_;
};

}  // namespace

std::unique_ptr<Instance> make_attention(const AttentionProblem& problem, AttentionData data) {
  return std::make_unique<AttentionInstance>(problem, std::move(data));
}

const Family& attention_family() {
  static const AttentionFamily family;
  return family;
}

}  // namespace nbx::contracts
