#include "contracts/collector.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace nbx::contracts {
namespace {

/// A mutant must stand at least this many bounds off, so that a kernel with the fault is red even where its own
/// rounding, which is at most one bound, hides as much of it as it can.
constexpr double clear_multiple = 2;

State state_of(Verdict::Kind kind) {
  switch (kind) {
    case Verdict::Kind::red:
      return State::red;
    case Verdict::Kind::declined:
      return State::declined;
    case Verdict::Kind::pending:
      return State::pending;
    case Verdict::Kind::stale:
      return State::stale;
    default:
      return State::pass;
  }
}

}  // namespace

std::string again_command(const Inventory& inventory, const Inventory::Entry& entry, const std::string& verb,
                          const std::string& name, const RunOptions& options) {
  const char* quote = name.find_first_of("( '") == std::string::npos ? "" : "'";
  std::string command = fmt::format("./nbx-contract {} {}{}{} --seed {}", verb, quote, name, quote, options.seed);
  const Inventory::Pack& pack = inventory.packs[entry.pack];
  if (std::find(options.named_packs.begin(), options.named_packs.end(), pack.file) != options.named_packs.end())
    command += fmt::format(" --pack '{}'", pack.file.string());
  if (pack.info.device.device_type == kDLCUDA) command += " --device cuda";
  if (options.tier == Tier::full) command += " --full";
  return command;
}

void Collector::add_case(const Inventory::Entry& entry, std::string_view clause, std::string_view sentence,
                         const std::string& problem, Verdict verdict, double seconds) {
  if (verdict.kind == Verdict::Kind::nothing_asked) return;
  CaseResult result;
  result.kernel = entry.kernel->name;
  result.clause = clause;
  result.problem = problem;
  result.state = state_of(verdict.kind);
  result.reason = std::move(verdict.reason);
  result.worst_share = verdict.worst_share;
  result.elements = verdict.elements;
  result.overflow_open = verdict.overflow_open;
  result.escalations = std::move(verdict.escalations);
  result.seconds = seconds;
  if (result.state == State::red) {
    result.red = std::move(verdict.red);
    result.red->clause_sentence = sentence;
    result.red->again = again_command(inventory_, entry, "explain", result.name(), options_);
    if (const Finding* finding = finding_for(findings_, result.kernel, clause, problem)) {
      result.state = State::known;
      result.reason = finding->reason;
    }
  }
  const std::lock_guard lock(mutex_);
  if (result.state == State::red) ++reds_;
  cases_.push_back(std::move(result));
  packs_of_cases_.push_back(inventory_.packs[entry.pack].info.name);
}

void Collector::add_control_case(const Inventory::Entry& entry, std::string_view clause, const std::string& problem,
                                 const Verdict& verdict) {
  const std::lock_guard lock(mutex_);
  ControlCases& cases = controls_[entry.kernel->name];
  if (verdict.kind == Verdict::Kind::red) {
    std::string text = problem;
    for (const auto& [label, line] : verdict.red.lines)
      if (label == "wrong") text += ": " + line;
    cases.red.try_emplace(std::string(clause), text);
    for (const auto& [label, line] : verdict.red.lines)
      if (label == "wrong" && (line.starts_with("the kernel crashed") || line.starts_with("the kernel did not return")))
        cases.crashed = text;
  } else if (verdict.kind == Verdict::Kind::pass) {
    cases.green.try_emplace(std::string(clause), problem);
    cases.share = std::max(cases.share, verdict.worst_share);
  } else if (verdict.kind == Verdict::Kind::pending) {
    cases.pending.try_emplace(std::string(clause), verdict.reason);
  }
}

void Collector::add_sight(const Sight& sight) {
  const std::lock_guard lock(mutex_);
  PowerResult& result = power_[{sight.arithmetic, sight.size_class, sight.mutant}];
  if (result.mutant.empty() || sight.multiple > result.multiple) {
    result.arithmetic = sight.arithmetic;
    result.mutant = sight.mutant;
    result.size_class = std::to_string(sight.size_class);
    result.problem = sight.problem;
    result.multiple = sight.multiple;
  }
}

void Collector::add_error(std::string text) {
  const std::lock_guard lock(mutex_);
  if (std::find(errors_.begin(), errors_.end(), text) == errors_.end()) errors_.push_back(std::move(text));
}

std::int64_t Collector::reds() const {
  const std::lock_guard lock(mutex_);
  return reds_;
}

ControlResult Collector::judge_control(const Inventory::Entry& entry) const {
  const ControlInfo& control = *entry.kernel->control;
  ControlResult result;
  result.control = entry.kernel->name;
  result.mutates = control.mutates;
  result.planted = control.planted;
  const auto found = controls_.find(entry.kernel->name);
  const ControlCases cases = found == controls_.end() ? ControlCases{} : found->second;
  for (const auto& [clause, problem] : cases.red) result.red_at.push_back(clause);
  result.share = cases.share;
  result.verdict = control.verdict == "equivalent"     ? ControlResult::Verdict::equivalent
                   : control.verdict == "within bound" ? ControlResult::Verdict::within_bound
                                                       : ControlResult::Verdict::red_as_planted;
  const auto miss = [&](std::string why) {
    result.verdict = ControlResult::Verdict::missed;
    result.why += (result.why.empty() ? "" : "; ") + std::move(why);
  };
  if (!inventory_.find(control.mutates)) miss(fmt::format("{} is in no pack of this run", control.mutates));
  // Evidence that is not there (no record for this seed) judges nothing.
  for (const std::string& clause : control.red_at)
    if (!cases.red.contains(clause) && !cases.green.contains(clause) && cases.pending.contains(clause)) {
      result.verdict = ControlResult::Verdict::not_judged;
      result.why = clause + " is pending: " + cases.pending.at(clause);
      return result;
    }
  for (const std::string& clause : control.red_at)
    if (!cases.red.contains(clause))
      miss(cases.green.contains(clause) ? fmt::format("{} stayed green", clause)
                                        : fmt::format("{} was never asked", clause));
  for (const auto& [clause, problem] : cases.red)
    if (std::find(control.red_at.begin(), control.red_at.end(), clause) == control.red_at.end())
      miss(fmt::format("{} turned red too, at {}", clause, problem));
  if (control.red_at.empty() && cases.green.empty()) miss("nothing was asked of it");
  if (control.red_at.empty() && control.verdict.empty()) miss("it names no clause at which it must turn red");
  if (!cases.crashed.empty() && !control.crashes) miss("it crashed, and no crash was planted: " + cases.crashed);
  if (control.crashes && cases.crashed.empty()) miss("a crash was planted and none came");
  return result;
}

void Collector::judge_power(RunResult& result) const {
  for (const auto& [key, sight] : power_) {
    PowerResult power = sight;
    power.killed = power.multiple >= clear_multiple;
    result.power.push_back(power);
  }
}

void Collector::judge_findings(RunResult& result) const {
  // Judged by the cases of its first clause; stale if they ran and none of them is red.
  std::map<std::pair<const Finding*, std::string>, FindingResult> found;
  for (const CaseResult& one : cases_) {
    const Finding* finding = finding_for(findings_, one.kernel, one.clause, one.problem);
    if (!finding) continue;
    FindingResult& shown = found[{finding, one.kernel}];
    shown.id = finding->id;
    shown.kernel = one.kernel;
    shown.clause = finding->clauses[0];
    shown.reason = finding->reason;
    if (one.clause == finding->clauses[0] && (one.state == State::known || one.state == State::pass))
      shown.judged = true;
    shown.showed = shown.showed || one.state == State::known;
  }
  for (auto& [key, shown] : found) result.findings.push_back(std::move(shown));
}

void Collector::add_broken_promises() {
  std::set<std::tuple<std::string, std::string, std::string>> asked;  // pack, kernel, clause
  for (std::size_t i = 0; i < cases_.size(); ++i) asked.emplace(packs_of_cases_[i], cases_[i].kernel, cases_[i].clause);
  for (const Inventory::Entry& entry : inventory_.honest) {
    const std::string& pack = inventory_.packs[entry.pack].info.name;
    if (!entry.selected) continue;
    for (const EqualityInfo& equality : entry.kernel->equalities) {
      if (!equality.reason.empty() || !asked.emplace(pack, entry.kernel->name, equality.clause).second) continue;
      CaseResult empty;
      empty.kernel = entry.kernel->name;
      empty.clause = equality.clause;
      empty.problem = "any";
      empty.state = State::red;
      empty.red = Red{.clause_sentence = "what a kernel promises is asked of it",
                      .lines = {{"wrong", "the kernel promises this, and no problem of its family asks it anything"},
                                {"what now",
                                 "give the kernel the axis, or the family the problem, that asks; or drop "
                                 "the promise"}},
                      .again = again_command(inventory_, entry, "list kernels", entry.kernel->name, options_)};
      cases_.push_back(std::move(empty));
      packs_of_cases_.push_back(pack);
    }
  }
}

void Collector::total_kernels(RunResult& result) const {
  std::map<std::pair<std::string, std::string>, KernelResult> by_kernel;
  for (std::size_t i = 0; i < cases_.size(); ++i) {
    const CaseResult& one = cases_[i];
    KernelResult& total = by_kernel[{packs_of_cases_[i], one.kernel}];
    total.kernel = one.kernel;
    total.pack = packs_of_cases_[i];
    total.seconds += one.seconds;
    switch (one.state) {
      case State::red:
        ++total.cases, ++total.red;
        break;
      case State::known:
        ++total.cases, ++total.known;
        break;
      case State::pass:
        ++total.cases;
        break;
      case State::declined:
        ++total.declined;
        break;
      case State::pending:
      case State::stale:
        ++total.skipped;
        break;
    }
    total.elements += one.elements;
    total.escalations.resize(std::max(total.escalations.size(), one.escalations.size()));
    for (std::size_t level = 0; level < one.escalations.size(); ++level)
      total.escalations[level] += one.escalations[level];
    if (one.state == State::pass && one.worst_share > total.worst_share) {
      total.worst_share = one.worst_share;
      total.worst_case = one.name();
    }
  }
  for (auto& [key, total] : by_kernel) {
    total.state = total.red ? State::red : total.known ? State::known : total.cases ? State::pass : State::declined;
    for (const FindingResult& finding : result.findings)
      if (finding.kernel == total.kernel && finding.showed) ++total.findings;
    result.kernels.push_back(std::move(total));
  }
}

RunResult Collector::result(const Plan& plan, bool complete) {
  const std::lock_guard lock(mutex_);
  RunResult result;
  result.seed = options_.seed;
  result.tier = options_.tier == Tier::quick ? "quick" : options_.tier == Tier::full ? "full" : "default";
  result.command = options_.command;
  result.packs = inventory_.results;
  result.notes = inventory_.notes;
  result.harness_errors = errors_;
  result.unmatched = plan.unmatched;
  if (complete) judge_power(result);
  for (const PowerResult& power : result.power) {
    if (power.killed) continue;
    CaseResult live;
    live.kernel = power.arithmetic.substr(0, power.arithmetic.find(' '));
    live.clause = power_clause;
    live.problem = fmt::format("{},{}", power.size_class, power.mutant);
    live.state = State::red;
    live.red =
        Red{.clause_sentence = "every mutant is seen by some problem of each size that a kernel claims",
            .lines = {{"wrong", fmt::format("{} at size {} lies within {:.3g} bounds of the right answer in every "
                                            "problem, where {} are needed",
                                            power.mutant, power.size_class, power.multiple, clear_multiple)},
                      {"closest", power.problem},
                      {"what now",
                       "no answer is wrong: the bound of the declared arithmetic is too wide to see this. Round "
                       "less and declare it, or decline the size in can_run"}},
            .again = {}};
    cases_.push_back(std::move(live));
    const Inventory::Entry* entry = inventory_.find(cases_.back().kernel);
    packs_of_cases_.push_back(entry ? inventory_.packs[entry->pack].info.name : "");
    CaseResult& told = cases_.back();
    if (entry) told.red->again = again_command(inventory_, *entry, "list power", told.kernel, options_);
  }
  const bool whole = options_.patterns.empty() && options_.only_cases.empty() && options_.gate == 0 &&
                     options_.shards == 1 && options_.tier != Tier::quick;
  if (complete && whole) add_broken_promises();
  judge_findings(result);
  total_kernels(result);
  for (const Inventory::Entry* entry : plan.judged_controls) {
    ControlResult control = judge_control(*entry);
    if (!complete) {
      control.verdict = ControlResult::Verdict::not_judged;
      control.why = "the run did not end";
    }
    result.controls.push_back(std::move(control));
  }
  result.cases_run = static_cast<std::int64_t>(cases_.size());
  result.cases = cases_;
  return result;
}

}  // namespace nbx::contracts
