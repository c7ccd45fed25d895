// Rows-first attention as the contracts know it. A kernel's format is its cache's.
#include "contracts/families/q35_family.hpp"

#include "contracts/families/q35_calls.hpp"
#include "contracts/families/score_lines.hpp"
#include "contracts/formats.hpp"

namespace nbx::contracts {
namespace {

class Q35Instance final : public Instance {
 public:
  Q35Instance(const Q35Problem& problem, DLDataType cache, std::uint64_t seed)
      : problem_(problem), data_(make_q35_data(problem, cache, seed)) {
    call_ = q35_call(data_);
    for (const CallTensor& tensor : call_.tensors) {
      if (tensor.role == NBX_IN) continue;
      std::vector<std::string> axes{"row", "head"};
      if (tensor.role == NBX_PARTIAL) axes.emplace_back("chunk");
      if (axes.size() < tensor.shape.size()) axes.emplace_back("column");
      outputs_.push_back({tensor.name, tensor.dtype, tensor.shape, axes});
    }
  }

  oracle::Evaluation evaluate(std::span<const oracle::Arithmetic> arithmetics) const override {
    return oracle::evaluate(q35_input(data_), arithmetics);
  }
  oracle::Refine refiner() const override { return oracle::refiner(q35_input(data_)); }
  oracle::BoundParts parts(const oracle::Arithmetic& arithmetic, std::size_t output,
                           std::int64_t element) const override {
    return oracle::bound_parts(q35_input(data_), arithmetic, output, element);
  }
  std::vector<std::vector<double>> mutate(oracle::Mutant mutant, std::uint64_t position) const override {
    return oracle::mutate(q35_input(data_), mutant, position);
  }
  std::vector<Way> ways(std::string_view clause, bool full) const override {
    return q35_ways(data_, call_, full, clause);
  }
  std::vector<std::pair<std::string, std::string>> behind(std::size_t output, std::int64_t element) const override {
    const std::int64_t per_row_head = count(outputs_[output].shape) / (data_.q_shape[0] * data_.q_shape[1]);
    const std::int64_t row_head = element / per_row_head;
    return score_lines(
        oracle::scores_of_row(q35_input(data_), row_head / data_.q_shape[1], row_head % data_.q_shape[1]));
  }

 private:
  const Q35Problem& problem_;
  Q35Data data_;
};

class Q35Family final : public Family {
 public:
  Q35Family() {
    for (const Q35Problem& p : q35_problems()) {
      ProblemInfo info;
      info.name = q35_problem_name(p);
      info.kind = std::string(q35_kind_name(p.kind)) + "/" + std::to_string(static_cast<int>(p.plant));
      info.tier = p.tier;
      info.equality = p.equality;
      info.size_class = p.size_class;
      info.work = p.rows * p.H * p.keys * 2 * 256;
      problems_.push_back(std::move(info));
    }
  }
  std::string_view name() const override { return "q35"; }
  std::span<const ProblemInfo> problems() const override { return problems_; }
  std::unique_ptr<Instance> make(std::size_t problem, DLDataType format, std::uint64_t seed) const override {
    return std::make_unique<Q35Instance>(q35_problems()[problem], format, seed);
  }
  std::vector<Refusal> refusals(DLDataType format, std::uint64_t seed) const override {
    return q35_refusals(format, seed);
  }
  std::vector<Edge> edges(DLDataType format, std::uint64_t seed) const override { return q35_edges(format, seed); }
  std::span<const std::string_view> optional_outputs() const override {
    static constexpr std::string_view names[] = {"o", "pm", "pl", "po"};
    return names;
  }
  /// Outputs are bf16 whatever the cache, and partials f32.
  DLDataType output_format(DLDataType) const override { return bf16_type; }

 private:
  std::vector<ProblemInfo> problems_;
};

}  // namespace

const Family& q35_family() {
  static const Q35Family family;
  return family;
}

}  // namespace nbx::contracts
