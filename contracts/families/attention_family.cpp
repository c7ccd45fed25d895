// Attention (math, chunked, and what streams) as the contracts know it.
#include "contracts/families/attention_family.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "contracts/dense.hpp"
#include "contracts/families/attention_inputs.hpp"
#include "contracts/families/attention_refusals.hpp"
#include "contracts/families/attention_ways.hpp"
#include "contracts/families/score_lines.hpp"
#include "contracts/formats.hpp"

namespace nbx::contracts {
namespace {

/// Elements times the scale of their head, exactly: fp32 numbers.
Bytes multiplied(const SharedBytes& elements, DLDataType format, const SharedBytes& scales) {
  const auto heads = static_cast<std::int64_t>(scales->size()) / 4;
  const std::int64_t n = static_cast<std::int64_t>(elements->size()) / (format.bits / 8);
  Bytes out(static_cast<std::size_t>(n) * 4);
  for (std::int64_t i = 0; i < n; ++i) {
    const double product = value_at(*elements, format, i) * value_at(*scales, f32_type, i / (n / heads));
    put_pattern(out, f32_type, i, oracle::encode(oracle::Format::f32, product));
    if (!std::isnan(product) && value_at(out, f32_type, i) != product)
      throw std::logic_error("a scaled operand is no fp32 number");
  }
  return out;
}

double largest_of(const SharedBytes& scales) {
  double largest = 0;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(scales->size()) / 4; ++i)
    largest = std::max(largest, std::fabs(value_at(*scales, f32_type, i)));
  return largest;
}

class AttentionInstance final : public Instance {
 public:
  AttentionInstance(const AttentionProblem& problem, AttentionData data) : problem_(problem), data_(std::move(data)) {
    if (data_.scaled()) {
      products_[0] = multiplied(data_.q, data_.format, data_.q_scale);
      products_[1] = multiplied(data_.k, data_.format, data_.k_scale);
      products_[2] = multiplied(data_.v, data_.format, data_.v_scale);
    }
    const Shape o{problem.B, problem.H, problem.Tq, data_.v_shape[3]};
    const Shape lse{problem.B, problem.H, problem.Tq};
    call_ = attention_call(problem, data_);
    outputs_ = {{"o", data_.output_format(), o, {"batch", "head", "row", "column"}},
                {"lse", f32_type, lse, {"batch", "head", "row"}}};
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
    if (data_.scaled()) {
      oracle::View* const views[] = {&in.q, &in.k, &in.v};
      for (std::size_t i = 0; i < 3; ++i) views[i]->bytes = products_[i], views[i]->format = oracle::Format::f32;
      in.stored = {*oracle_format(data_.format), largest_of(data_.q_scale) * largest_of(data_.k_scale),
                   largest_of(data_.v_scale)};
    }
    return in;
  }

  const AttentionProblem& problem_;
  AttentionData data_;
  Bytes products_[3];  // q, k and v with their scales
};

class AttentionFamily final : public Family {
 public:
  /// Its own problems, and those of power.
  AttentionFamily(std::string_view name, std::span<const AttentionProblem> own) : name_(name) {
    for (const auto table : {own, std::span<const AttentionProblem>(attention_table::power_problems)})
      for (const AttentionProblem& p : table) table_.push_back(&p);
    for (const AttentionProblem* const at : table_) {
      const AttentionProblem& p = *at;
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
  std::string_view name() const override { return name_; }
  std::span<const ProblemInfo> problems() const override { return problems_; }
  std::unique_ptr<Instance> make(std::size_t problem, DLDataType format, std::uint64_t seed) const override {
    const AttentionProblem& p = *table_[problem];
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
  DLDataType output_format(DLDataType format) const override {
    return same_type(format, e4m3_type) ? bf16_type : format;
  }

 private:
  std::string_view name_;
  std::vector<const AttentionProblem*> table_;
  std::vector<ProblemInfo> problems_;
};

}  // namespace

std::unique_ptr<Instance> make_attention(const AttentionProblem& problem, AttentionData data) {
  return std::make_unique<AttentionInstance>(problem, std::move(data));
}

const Family& attention_family() {
  static const AttentionFamily family("attention", attention_table::problems);
  return family;
}

const Family& attention_scaled_family() {
  static const AttentionFamily family("attention_scaled", attention_table::scaled_problems);
  return family;
}

}  // namespace nbx::contracts
