#include "contracts/families/splash_instance.hpp"

#include <utility>

namespace nbx::contracts {

oracle::AttentionInput splash_attention(const oracle::SplashInput& splash) {
  return {.q = splash.q,
          .k = splash.k,
          .v = splash.v,
          .bias = {},
          .causal = oracle::Causal::none,
          .scale = 1.0f,
          .lengths = {},
          .base_two = true};
}

ProblemInfo splash_problem_info(const SplashProblem& p, std::string name, const std::string& kind) {
  ProblemInfo info;
  info.name = std::move(name);
  info.kind = kind;
  info.tier = p.tier;
  info.equality = p.equality;
  info.size_class = p.size_class;
  info.work = p.B * p.H * p.Tq * p.Tk * (p.D + (p.Dv ? p.Dv : p.D));
  return info;
}

oracle::Evaluation SplashInstanceBase::kept(oracle::Evaluation evaluation) const {
  last_ = std::make_shared<oracle::Evaluation>(std::move(evaluation));
  return *last_;
}

oracle::Refine SplashInstanceBase::refiner() const {
  return [this, attention = attends() ? oracle::refiner(input()) : oracle::Refine{}](std::size_t output,
                                                                                     std::int64_t element, int bits) {
    if (is_attention(output)) return attention(output, element, bits);
    const oracle::Expected& known = last().outputs[output].expected;
    const auto at = static_cast<std::size_t>(element);
    return oracle::Refined{.value = known.value[at], .radius = known.radius[at]};
  };
}

oracle::BoundParts SplashInstanceBase::parts(const oracle::Arithmetic& arithmetic, std::size_t output,
                                             std::int64_t element) const {
  return is_attention(output) ? oracle::bound_parts(input(), arithmetic, output, element) : oracle::BoundParts{};
}

std::vector<std::vector<double>> SplashInstanceBase::mutate(oracle::Mutant mutant, std::uint64_t position) const {
  if (!attends()) return {};
  auto wrong = oracle::mutate(input(), mutant, position);
  for (std::size_t i = wrong.size(); !wrong.empty() && i < last().outputs.size(); ++i)
    wrong.push_back(last().outputs[i].expected.value);
  return wrong;
}

}  // namespace nbx::contracts
