// Decode as the contracts know it.
#include "contracts/families/decode_family.hpp"

#include "contracts/families/decode_refusals.hpp"
#include "contracts/families/decode_ways.hpp"
#include "contracts/families/score_lines.hpp"
#include "contracts/formats.hpp"

namespace nbx::contracts {
namespace {

class DecodeInstance final : public Instance {
 public:
  DecodeInstance(const DecodeProblem& problem, DLDataType format, std::uint64_t seed)
      : problem_(problem), data_(make_decode_data(problem, format, seed)) {
    call_ = decode_call(problem, data_);
    const AttentionProblem& p = problem.base;
    const Shape o{p.B, p.H, 1, data_.attention.v_shape[3]}, lse{p.B, p.H, 1};
    outputs_ = {{"o", format, o, {"sequence", "head", "row", "column"}},
                {"lse", f32_type, lse, {"sequence", "head", "row"}}};
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
    return decode_ways(problem_, data_, call_, full, clause);
  }
  std::vector<std::pair<std::string, std::string>> behind(std::size_t output, std::int64_t element) const override {
    return score_lines(oracle::scores_of_row(input(), output == 0 ? element / data_.attention.v_shape[3] : element));
  }

 private:
  oracle::AttentionInput input() const { return decode_input(problem_, data_); }

  const DecodeProblem& problem_;
  DecodeData data_;
};

class DecodeFamily final : public Family {
 public:
  DecodeFamily() {
    for (const DecodeProblem& problem : decode_problems()) {
      const AttentionProblem& p = problem.base;
      ProblemInfo info;
      info.name = decode_problem_name(problem);
      info.kind = std::string(kind_name(p.kind)) + "/" + plant_name(p.plant) + "/" +
                  std::to_string(static_cast<int>(problem.plant)) + (problem.q_round ? "/q_round" : "");
      info.tier = p.tier;
      info.equality = p.equality;
      info.size_class = p.size_class;
      info.work = p.B * p.H * p.Tk * (p.D + (p.Dv ? p.Dv : p.D));
      problems_.push_back(std::move(info));
    }
  }
  std::string_view name() const override { return "decode"; }
  std::span<const ProblemInfo> problems() const override { return problems_; }
  std::unique_ptr<Instance> make(std::size_t problem, DLDataType format, std::uint64_t seed) const override {
    return std::make_unique<DecodeInstance>(decode_problems()[problem], format, seed);
  }
  std::vector<Refusal> refusals(DLDataType format, std::uint64_t seed) const override {
    return decode_refusals(format, seed);
  }
  std::vector<Edge> edges(DLDataType format, std::uint64_t seed) const override { return decode_edges(format, seed); }
  std::span<const std::string_view> optional_outputs() const override {
    static constexpr std::string_view names[] = {"lse"};
    return names;
  }

 private:
  std::vector<ProblemInfo> problems_;
};

}  // namespace

const Family& decode_family() {
  static const DecodeFamily family;
  return family;
}

Call decode_call(const DecodeProblem& problem, const DecodeData& data) {
  const AttentionProblem& p = problem.base;
  const AttentionData& from = data.attention;
  Call call;
  call.family = "decode";
  call.tensors = {input_tensor("q", data.q_format, from.q_shape, data.given_q),
                  input_tensor("k", from.format, from.k_shape, from.k),
                  input_tensor("v", from.format, from.v_shape, from.v)};
  if (from.bias) call.tensors.push_back(input_tensor("bias", from.bias_format, *from.bias_shape, from.bias));
  if (data.lengths_bytes) call.tensors.push_back(input_tensor("seq_lens", int32_type, {p.B}, data.lengths_bytes));
  call.tensors.push_back(output_tensor("o", from.format, {p.B, p.H, 1, from.v_shape[3]}));
  call.tensors.push_back(output_tensor("lse", f32_type, {p.B, p.H, 1}));
  call.params = {text_param("causal", causal_text(p.causal))};
  if (p.scale != 0) call.params.push_back(real_param("scale", p.scale));
  if (problem.q_round) call.params.push_back(int_param("q_round", 1));
  return call;
}

}  // namespace nbx::contracts
