#include "contracts/task.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>

#include "contracts/gates/declared.hpp"
#include "contracts/gates/red.hpp"
#include "contracts/random.hpp"

namespace nbx::contracts {
namespace {

using Clock = std::chrono::steady_clock;

/// The problem with the oracle's answers for every arithmetic that its kernels declare.
class Preparation {
 public:
  Preparation(const TaskContext& context, const Task& task)
      : context_(context), task_(task), problem_(task.family->problems()[task.problem]) {
    instance_ = task.family->make(task.problem, task.format, context.options.seed);
  }

  const ProblemInfo& problem() const { return problem_; }

  /// Learns the arithmetic of a kernel. A verdict where it has none: declined, or red.
  std::optional<Verdict> enrol(const Inventory::Entry& entry) {
    if (arithmetics_.contains(&entry)) return std::nullopt;
    const Call call = call_for(*task_.family, *entry.kernel, instance_->call());
    Executor& executor = context_.children.of(entry.pack);
    if (const Outcome able = executor.can_run(call); able.kind != Outcome::Kind::ran) {
      if (able.kind == Outcome::Kind::refused && able.status == NBX_UNSUPPORTED)
        return Verdict{.kind = Verdict::Kind::declined, .reason = able.message};
      Subject subject(*entry.kernel, context_.inventory.packs[entry.pack].info, executor, *task_.family);
      return red_outcome(subject, "can_run", able);
    }
    std::string why;
    const auto stated = executor.arithmetic(call, &why);
    const std::string& imitates = context_.inventory.packs[entry.pack].info.imitates;
    const DLDataType output = task_.family->output_format(entry.kernel->format);
    const auto arithmetic = stated ? declared(*stated, output, imitates, &why) : std::nullopt;
    if (!arithmetic) return red_text({{"wrong", "states no arithmetic that a bound follows from"}, {"it says", why}});
    arithmetics_[&entry] = *arithmetic;
    return std::nullopt;
  }

  /// After all are enrolled: one evaluation for each way of treating masked values.
  void evaluate() {
    for (const auto& [entry, arithmetic] : arithmetics_) {
      Prepared& prepared = prepared_[arithmetic.masked_value];
      auto& list = prepared.arithmetics;
      if (std::find(list.begin(), list.end(), arithmetic) == list.end()) list.push_back(arithmetic);
    }
    for (auto& [masked, prepared] : prepared_) {
      prepared.family = task_.family;
      prepared.problem = &problem_;
      prepared.instance = instance_;
      prepared.evaluation = instance_->evaluate(prepared.arithmetics);
      prepared.refine = instance_->refiner();
    }
  }

  const Prepared* prepared(const Inventory::Entry& entry) const {
    const auto arithmetic = arithmetics_.find(&entry);
    return arithmetic == arithmetics_.end() ? nullptr : &prepared_.at(arithmetic->second.masked_value);
  }
  std::size_t index(const Inventory::Entry& entry) const {
    const auto& list = prepared(entry)->arithmetics;
    return static_cast<std::size_t>(std::find(list.begin(), list.end(), arithmetics_.at(&entry)) - list.begin());
  }

  Subject subject(const Inventory::Entry& entry) const {
    const Inventory& inventory = context_.inventory;
    Children& children = context_.children;
    Subject subject(*entry.kernel, inventory.packs[entry.pack].info, children.of(entry.pack), *task_.family);
    subject.prepared = prepared(entry);
    subject.arithmetic = index(entry);
    subject.full = context_.options.tier == Tier::full;
    subject.seed = context_.options.seed;
    subject.records = &context_.records;
    const auto as_partner = [&children](const Inventory::Entry* other) -> std::optional<Partner> {
      if (!other) return std::nullopt;
      return Partner{&children.of(other->pack), other->kernel};
    };
    subject.partner = [&inventory, as_partner, pack = entry.pack](const std::string& kernel) {
      return as_partner(inventory.partner(pack, kernel));
    };
    subject.twin = [&inventory, as_partner, &entry] { return as_partner(inventory.twin(entry)); };
    return subject;
  }

 private:
  const TaskContext& context_;
  const Task& task_;
  const ProblemInfo& problem_;
  std::shared_ptr<const Instance> instance_;
  std::map<const Inventory::Entry*, oracle::Arithmetic> arithmetics_;
  std::map<oracle::Arithmetic::MaskedValue, Prepared> prepared_;
};

bool has_lse(const std::vector<oracle::Evaluation::Output>& outputs) {
  return std::any_of(outputs.begin(), outputs.end(), [](const auto& output) { return output.name == "lse"; });
}

/// Whether the kernel gives this output.
bool gives(const Family& family, const KernelInfo& kernel, std::string_view output) {
  const auto optional = family.optional_outputs();
  if (std::find(optional.begin(), optional.end(), output) == optional.end()) return true;
  const auto& given = kernel.optional_outputs;
  return std::find(given.begin(), given.end(), output) != given.end();
}

/// Gate 1's power: holds each mutant of the reference against the honest bounds of each distinct arithmetic.
void look_for_mutants(const TaskContext& context, const Task& task, const Preparation& preparation) {
  struct Group {
    const Prepared* prepared;
    std::size_t arithmetic;
    std::vector<bool> given;  // of the evaluation's outputs
    std::vector<std::string> kernels;
  };
  std::vector<Group> groups;
  for (const Inventory::Entry* entry : task.power_of) {
    const Prepared* prepared = preparation.prepared(*entry);
    if (!prepared) continue;  // declined: it claims no sight at this size
    const std::size_t index = preparation.index(*entry);
    std::vector<bool> given;
    for (const auto& output : prepared->evaluation.outputs)
      given.push_back(gives(*task.family, *entry->kernel, output.name));
    const auto same = std::find_if(groups.begin(), groups.end(), [&](const Group& group) {
      return group.prepared == prepared && group.arithmetic == index && group.given == given;
    });
    if (same == groups.end())
      groups.push_back({prepared, index, given, {entry->kernel->name}});
    else if (std::find(same->kernels.begin(), same->kernels.end(), entry->kernel->name) == same->kernels.end())
      same->kernels.push_back(entry->kernel->name);
  }
  const std::string& problem = preparation.problem().name;
  for (const oracle::Mutant mutant : oracle::all_mutants()) {
    if (groups.empty() || context.stopped()) return;
    const std::string name(oracle::name(mutant));
    const auto wrong =
        groups[0].prepared->instance->mutate(mutant, hash_text(problem + "/" + name, context.options.seed));
    if (wrong.empty()) continue;
    for (const Group& group : groups) {
      double multiple = 0;
      bool shows = false;  // in an output that the kernels give
      const auto& outputs = group.prepared->evaluation.outputs;
      for (std::size_t o = 0; o < outputs.size(); ++o) {
        if (!group.given[o] || wrong[o].empty()) continue;
        if (mutant == oracle::Mutant::lse_without_max && has_lse(outputs) && outputs[o].name != "lse") continue;
        shows = true;
        multiple = std::max(multiple, oracle::visibility(outputs[o], outputs[o].bounds[group.arithmetic], wrong[o]));
      }
      if (!shows) continue;
      const std::string arithmetic = group.kernels.size() == 1
                                         ? group.kernels[0]
                                         : fmt::format("{} (+{})", group.kernels[0], group.kernels.size() - 1);
      context.collector.add_sight({.arithmetic = arithmetic,
                                   .mutant = name,
                                   .problem = problem,
                                   .size_class = preparation.problem().size_class,
                                   .multiple = multiple});
    }
  }
}

Verdict judged(const Clause& clause, Subject& subject, const TaskContext& context, const std::string& what) {
  try {
    return clause.judge(subject);
  } catch (const std::exception& error) {
    context.collector.add_error(fmt::format("{}: {}", what, error.what()));
    return {};
  }
}

const Refusal* named_refusal(const std::vector<Refusal>& list, const std::string& clause, const std::string& name) {
  for (const Refusal& refusal : list)
    if (refusal.clause == clause && refusal.name == name) return &refusal;
  return nullptr;
}

CallClause call_clause(std::string_view id) {
  for (const CallClause& clause : call_clauses())
    if (clause.id == id) return clause;
  return {};
}

std::string_view call_sentence(std::string_view id) { return call_clause(id).sentence; }

}  // namespace

void run_task(const TaskContext& context, const Task& task) {
  Preparation preparation(context, task);
  const std::string& problem = preparation.problem().name;
  const auto enrol = [&](const Assignment& assignment, bool honest) {
    const auto start = Clock::now();
    const auto verdict = preparation.enrol(*assignment.entry);
    if (!verdict || assignment.clauses.empty()) return;
    const Clause& first = *assignment.clauses.front();
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    if (honest)
      context.collector.add_case(*assignment.entry, first.id, first.sentence, problem, *verdict, seconds);
    else
      context.collector.add_control_case(*assignment.entry, first.id, problem, *verdict);
  };
  for (const Assignment& assignment : task.honest) enrol(assignment, true);
  for (const Assignment& assignment : task.controls) enrol(assignment, false);
  for (const Inventory::Entry* entry : task.power_of) preparation.enrol(*entry);
  preparation.evaluate();
  look_for_mutants(context, task, preparation);

  for (const bool honest : {true, false})
    for (const Assignment& assignment : honest ? task.honest : task.controls) {
      if (!preparation.prepared(*assignment.entry)) continue;
      Subject subject = preparation.subject(*assignment.entry);
      for (const Clause* clause : assignment.clauses) {
        if (context.stopped()) return;
        const auto start = Clock::now();
        const std::string name = fmt::format("{}/{}({})", assignment.entry->kernel->name, clause->id, problem);
        Verdict verdict = judged(*clause, subject, context, name);
        if (context.stopped()) return;  // a child that was ended is no verdict
        const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
        if (honest)
          context.collector.add_case(*assignment.entry, clause->id, clause->sentence, problem, std::move(verdict),
                                     seconds);
        else
          context.collector.add_control_case(*assignment.entry, clause->id, problem, verdict);
      }
    }
}

void run_call_task(const TaskContext& context, const CallTask& task) {
  const Inventory::Entry& entry = *task.entry;
  Subject subject(*entry.kernel, context.inventory.packs[entry.pack].info, context.children.of(entry.pack),
                  *entry.family);
  const auto wanted = [&](const std::string& clause) {
    return std::find(task.clauses.begin(), task.clauses.end(), clause) != task.clauses.end();
  };
  const auto add = [&](const std::string& clause, const std::string& name, Verdict verdict, double seconds) {
    if (entry.kernel->control)
      context.collector.add_control_case(entry, clause, name, verdict);
    else
      context.collector.add_case(entry, clause, call_sentence(clause), name, std::move(verdict), seconds);
  };
  const auto timed = [&](const std::string& clause, const std::string& name, auto&& judge) {
    if (context.stopped() || !wanted(clause)) return;
    const auto start = Clock::now();
    Verdict verdict = judge();
    if (context.stopped()) return;
    add(clause, name, std::move(verdict), std::chrono::duration<double>(Clock::now() - start).count());
  };
  for (const Refusal& refusal : entry.family->refusals(entry.kernel->format, context.options.seed))
    timed(refusal.clause, refusal.name, [&] { return judge_refusal(subject, refusal); });
  // Edges are large: they are made only where one is asked for.
  if (std::none_of(task.clauses.begin(), task.clauses.end(),
                   [](const std::string& id) { return call_clause(id).edge; }))
    return;
  const bool on_device = context.inventory.packs[entry.pack].info.device.device_type != kDLCPU;
  for (const Edge& edge : entry.family->edges(entry.kernel->format, context.options.seed))
    timed(edge.clause, edge.name, [&] {
      // The host reserves such a span and touches little of it; a device has to give all of it.
      if (on_device && edge.clause == "gate4.offsets" && context.options.tier != Tier::full)
        return Verdict{.kind = Verdict::Kind::declined, .reason = "takes gigabytes of the device: asked with --full"};
      return judge_edge(subject, edge);
    });
}

bool explain_case(const TaskContext& context, const Inventory::Entry& entry, const std::string& clause_id,
                  const std::string& problem, Explanation& explanation) {
  const auto tell = [&](std::string_view sentence, Verdict verdict) {
    Collector& collector = context.collector;
    std::vector<std::pair<std::string, std::string>> detail = verdict.detail;
    collector.add_case(entry, clause_id, sentence, problem, std::move(verdict), 0);
    Plan none;
    RunResult result = collector.result(none, false);
    if (result.cases.empty()) {
      explanation.result.kernel = entry.kernel->name;
      explanation.result.clause = clause_id;
      explanation.result.problem = problem;
      explanation.result.state = State::stale;
      explanation.result.reason =
          result.harness_errors.empty() ? "the clause asks nothing of this problem" : result.harness_errors.front();
      return true;
    }
    explanation.result = std::move(result.cases.front());
    if (!explanation.result.red) explanation.lines = std::move(detail);
    return true;
  };
  Subject bare(*entry.kernel, context.inventory.packs[entry.pack].info, context.children.of(entry.pack), *entry.family);
  const auto refusals = entry.family->refusals(entry.kernel->format, context.options.seed);
  if (const Refusal* refusal = named_refusal(refusals, clause_id, problem))
    return tell(call_sentence(clause_id), judge_refusal(bare, *refusal));
  for (const Edge& edge : entry.family->edges(entry.kernel->format, context.options.seed))
    if (edge.clause == clause_id && edge.name == problem) return tell(call_sentence(clause_id), judge_edge(bare, edge));
  for (const Clause& clause : clauses()) {
    if (clause.id != clause_id) continue;
    const auto problems = entry.family->problems();
    for (std::size_t p = 0; p < problems.size(); ++p) {
      if (problems[p].name != problem) continue;
      Task task{.family = entry.family,
                .problem = p,
                .format = entry.kernel->format,
                .honest = {},
                .controls = {},
                .power_of = {},
                .work = 0};
      Preparation preparation(context, task);
      if (const auto verdict = preparation.enrol(entry)) return tell(clause.sentence, *verdict);
      preparation.evaluate();
      Subject subject = preparation.subject(entry);
      subject.explaining = true;
      Verdict verdict = judged(clause, subject, context, problem);
      const Outcome chosen = subject.executor().explain(subject.call(subject.prepared->instance->call()));
      if (chosen.kind == Outcome::Kind::ran)
        (verdict.kind == Verdict::Kind::red ? verdict.red.lines : verdict.detail).emplace_back("chose", chosen.message);
      return tell(clause.sentence, std::move(verdict));
    }
  }
  return false;
}

}  // namespace nbx::contracts
