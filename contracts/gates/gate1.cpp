// Gate 1: every element of every output within its proven bound, under every configuration of the launch.
#include <fmt/format.h>

#include <algorithm>

#include "contracts/formats.hpp"
#include "contracts/gates/clause.hpp"
#include "contracts/gates/compare.hpp"
#include "contracts/gates/red.hpp"
#include "oracle/verdict.hpp"

namespace nbx::contracts {
namespace {

void merge(Verdict& into, const oracle::Judgement& one) {
  into.elements += one.elements;
  into.overflow_open += one.overflow_open;
  into.escalations.resize(one.escalations.size());
  for (std::size_t i = 0; i < one.escalations.size(); ++i) into.escalations[i] += one.escalations[i];
  into.worst_share = std::max(into.worst_share, one.worst_share);
}

/// Judges each output of one run; adds to `total`, and returns a red at the first that does not hold.
std::optional<Verdict> judge_outputs(Subject& subject, const std::string& launch, const Call& call,
                                     const Outcome& outcome, Verdict& total) {
  const Prepared& prepared = *subject.prepared;
  const auto tensors = output_tensors(call);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::size_t index = prepared.output_index(tensors[i]->name);
    const oracle::Evaluation::Output& output = prepared.evaluation.outputs[index];
    const oracle::Bounds& bounds = output.bounds[subject.arithmetic];
    const oracle::Judgement judgement =
        oracle::judge(output, bounds, outcome.outputs.at(i), *oracle_format(tensors[i]->dtype), prepared.refine, index);
    merge(total, judgement);
    const auto lines = [&] {
      return reference_lines(subject, launch, output_info(*prepared.instance, tensors[i]->name), index, bounds,
                             outcome.outputs[i], judgement);
    };
    if (judgement.holds() && subject.explaining)
      for (auto& line : lines()) total.detail.push_back(std::move(line));
    if (judgement.holds()) continue;
    if (judgement.undecided && judgement.wrong.empty())
      throw std::runtime_error(fmt::format("an element of {} could not be decided with 4,096 bits", tensors[i]->name));
    Verdict red = red_text(lines());
    red.worst_share = judgement.worst_share;
    red.elements = total.elements;
    return red;
  }
  return std::nullopt;
}

Verdict judge_reference(Subject& subject) {
  const Outcome& base = subject.base();
  if (auto verdict = not_run(subject, "", base)) return *verdict;
  const Call plain = subject.call(subject.prepared->instance->call());
  Verdict total = Verdict::passed();
  if (auto red = judge_outputs(subject, "", plain, base, total)) return *red;
  for (const AxisInfo& axis : subject.kernel().axes)
    for (const std::int64_t value : axis.values) {
      const std::string launch = fmt::format("{}={}", axis.option, value);
      const Outcome& outcome = subject.along(axis, value);
      if (outcome.kind == Outcome::Kind::refused && outcome.status == NBX_UNSUPPORTED) continue;
      if (auto verdict = not_run(subject, launch, outcome)) return *verdict;
      if (outcome.outputs == base.outputs) continue;  // the same bits have the same verdict
      if (auto red = judge_outputs(subject, launch, plain, outcome, total)) return *red;
    }
  if (total.elements == 0) return {};  // an empty output asks nothing
  return total;
}

/// What the kernel says, and the bits of the kernel that the rules name.
Verdict judge_route(Subject& subject) {
  const std::vector<Routed> routes = subject.prepared->instance->routes();
  const auto partner_of = [&](const Routed& routed) {
    return subject.partner ? subject.partner(routed.kernel) : std::nullopt;
  };
  const auto due =
      std::find_if(routes.begin(), routes.end(), [&](const Routed& routed) { return partner_of(routed).has_value(); });
  if (due == routes.end()) return {};
  if (auto verdict = not_run(subject, "", subject.base())) return *verdict;
  const Call plain = subject.call(subject.prepared->instance->call());
  const Outcome told = subject.executor().explain(plain);
  if (told.kind != Outcome::Kind::ran) return red_outcome(subject, "explain", told);
  if (!told.message.starts_with(due->text + ":"))
    return red_text(
        {{"wrong", "another route than the rules give"}, {"expected", due->text}, {"it says", told.message}});
  const Partner partner = *partner_of(*due);
  const Family& family = *family_named(partner.kernel->family);
  Call alone = call_for(family, *partner.kernel, due->call);
  alone.family = partner.kernel->family;
  const Outcome outcome = partner.executor->execute(alone);
  if (auto verdict = not_run(subject, "by " + due->kernel, outcome)) return *verdict;
  if (const auto found = difference(plain, subject.base(), alone, outcome))
    return red_difference(subject, "by " + due->kernel, output_info(*subject.prepared->instance, found->output),
                          *found);
  return Verdict::passed();
}

/// A clause that the problem's family judges by itself.
template <const char* id>
Verdict judge_own(Subject& subject) {
  const Outcome& base = subject.base();
  if (auto verdict = not_run(subject, "", base)) return *verdict;
  const Call call = subject.call(subject.prepared->instance->call());
  OwnVerdict own = subject.prepared->instance->own(id, call, base.outputs);
  if (!own.asked) return {};
  if (!own.wrong.empty()) return red_text(std::move(own.wrong));
  Verdict verdict = Verdict::passed();
  if (subject.explaining) verdict.detail = std::move(own.detail);
  return verdict;
}

bool is_splash(const KernelInfo& kernel, const PackInfo&) { return kernel.family.starts_with("splash"); }

constexpr char lost_mass[] = "gate1.lost_mass", centring[] = "gate1.centring";

constexpr Clause table[] = {
    {.id = "gate1.reference",
     .sentence = "every element lies within its proven bound, under every configuration of the launch",
     .source = "the definition; the bound follows from the declared arithmetic (oracle/README.md)",
     .gate = 1,
     .applies = always,
     .equality = false,
     .judge = judge_reference},
    {.id = "gate1.route",
     .sentence = "the kernel of the route that the rules give computes the call, and says so",
     .source = "the rules of the route (kernels/README.md)",
     .gate = 1,
     .applies = always,
     .equality = false,
     .judge = judge_route},
    {.id = lost_mass,
     .sentence = "under a fixed shift no weight leaves the window: no mass is lost",
     .source = "the window of fixed-m attention, by exact norms and scores (oracle/README.md)",
     .gate = 1,
     .applies = is_splash,
     .equality = false,
     .judge = judge_own<lost_mass>},
    {.id = centring,
     .sentence = "a constant vector that is added to every key changes no softmax",
     .source = "the definition: q·c is common to all scores of a row",
     .gate = 1,
     .applies = is_splash,
     .equality = false,
     .judge = judge_own<centring>},
};

}  // namespace

std::span<const Clause> gate1_clauses() { return table; }

}  // namespace nbx::contracts
