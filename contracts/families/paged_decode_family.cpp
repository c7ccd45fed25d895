// Paged decode as the contracts know it.
#include "contracts/families/paged_decode_family.hpp"

#include "contracts/families/paged_refusals.hpp"
#include "contracts/families/paged_ways.hpp"
#include "contracts/families/score_lines.hpp"
#include "contracts/formats.hpp"

namespace nbx::contracts {
namespace {

class PagedInstance final : public Instance {
 public:
  PagedInstance(const PagedProblem& problem, DLDataType format, std::uint64_t seed)
      : problem_(problem),
        data_(make_paged_data(problem, format, seed)),
        paged_(paged_input(problem, data_)),
        cache_(oracle::gather(paged_)) {
    call_ = paged_call(problem, data_);
    const AttentionProblem& p = problem.base;
    const Shape o{p.B, p.H, 1, data_.v_shape[3]}, lse{p.B, p.H, 1};
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
  std::vector<Way> ways(std::string_view clause, bool) const override {
    return paged_ways(problem_, data_, call_, clause);
  }
  /// decode on the gathered cache.
  std::optional<Call> call_as(std::string_view family) const override {
    if (family != "decode") return Instance::call_as(family);
    Call call;
    call.family = "decode";
    const DLDataType format = data_.decode.attention.format;
    for (const CallTensor& tensor : call_.tensors) {
      if (tensor.name == "block_table") continue;
      call.tensors.push_back(tensor);
      CallTensor& own = call.tensors.back();
      if (tensor.name == "k_pool") own = input_tensor("k", format, cache_.k_shape, std::make_shared<Bytes>(cache_.k));
      if (tensor.name == "v_pool") own = input_tensor("v", format, cache_.v_shape, std::make_shared<Bytes>(cache_.v));
    }
    for (const Param& param : call_.params)
      if (param.name != "max_seq_len") call.params.push_back(param);
    return call;
  }
  std::vector<std::pair<std::string, std::string>> behind(std::size_t output, std::int64_t element) const override {
    return score_lines(oracle::scores_of_row(input(), output == 0 ? element / data_.v_shape[3] : element));
  }

 private:
  oracle::AttentionInput input() const { return oracle::over(paged_, cache_); }

  const PagedProblem& problem_;
  PagedData data_;
  oracle::PagedInput paged_;
  oracle::GatheredCache cache_;
};

class PagedFamily final : public Family {
 public:
  PagedFamily() {
    for (const PagedProblem& problem : paged_problems()) {
      const AttentionProblem& p = problem.base;
      ProblemInfo info;
      info.name = paged_problem_name(problem);
      info.kind = std::string(kind_name(p.kind)) + "/" + plant_name(p.plant) + "/" +
                  std::to_string(static_cast<int>(problem.plant));
      info.tier = p.tier;
      info.equality = p.equality;
      info.size_class = p.size_class;
      info.work = p.B * p.H * p.Tk * (p.D + (p.Dv ? p.Dv : p.D));
      problems_.push_back(std::move(info));
    }
  }
  std::string_view name() const override { return "paged_decode"; }
  std::span<const ProblemInfo> problems() const override { return problems_; }
  std::unique_ptr<Instance> make(std::size_t problem, DLDataType format, std::uint64_t seed) const override {
    return std::make_unique<PagedInstance>(paged_problems()[problem], format, seed);
  }
  std::vector<Refusal> refusals(DLDataType format, std::uint64_t seed) const override {
    return paged_refusals(format, seed);
  }
  std::vector<Edge> edges(DLDataType format, std::uint64_t seed) const override { return paged_edges(format, seed); }
  std::span<const std::string_view> optional_outputs() const override {
    static constexpr std::string_view names[] = {"lse"};
    return names;
  }

 private:
  std::vector<ProblemInfo> problems_;
};

}  // namespace

const Family& paged_decode_family() {
  static const PagedFamily family;
  return family;
}

}  // namespace nbx::contracts
