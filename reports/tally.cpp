#include "reports/tally.hpp"

#include <algorithm>

namespace nbx::reports {
namespace {

using contracts::ControlResult;
using contracts::State;

void add(std::vector<std::int64_t>& total, const std::vector<std::int64_t>& part) {
  if (total.size() < part.size()) total.resize(part.size());
  for (std::size_t level = 0; level < part.size(); ++level) total[level] += part[level];
}

void count_kernels(const contracts::RunResult& result, Tally& tally) {
  for (const contracts::KernelResult& kernel : result.kernels) {
    tally.elements += kernel.elements;
    tally.overflow_open += kernel.overflow_open;
    add(tally.escalations, kernel.escalations);
    const bool fails = kernel.state == State::red || kernel.red > 0;
    const bool passes = !fails && kernel.cases > 0 && (kernel.state == State::pass || kernel.state == State::known);
    tally.fail += fails;
    tally.pass += passes;
    tally.declined_kernels += !fails && !passes;
  }
  tally.kernels = tally.fail + tally.pass;
}

void count_cases(const contracts::RunResult& result, Tally& tally) {
  for (const contracts::CaseResult& one : result.cases) {
    tally.red_cases += one.state == State::red;
    tally.declined_cases += one.state == State::declined;
    tally.pending_cases += one.state == State::pending;
    tally.stale_cases += one.state == State::stale;
  }
}

void count_controls(const contracts::RunResult& result, Tally& tally) {
  for (const ControlResult& control : result.controls) {
    switch (control.verdict) {
      case ControlResult::Verdict::red_as_planted:
        ++tally.red_as_planted;
        break;
      case ControlResult::Verdict::missed:
        ++tally.missed;
        break;
      case ControlResult::Verdict::equivalent:
        ++tally.equivalent;
        break;
      case ControlResult::Verdict::within_bound:
        ++tally.within_bound;
        break;
      case ControlResult::Verdict::not_judged:
        ++tally.not_judged;
        break;
    }
  }
  tally.controls = tally.red_as_planted + tally.missed;
}

}  // namespace

Tally tally(const contracts::RunResult& result) {
  Tally tally;
  count_kernels(result, tally);
  count_cases(result, tally);
  count_controls(result, tally);
  for (const contracts::FindingResult& finding : result.findings) {
    tally.known_findings += finding.showed;
    tally.stale_findings += finding.stale();
  }
  for (const contracts::PowerResult& power : result.power) tally.live_mutants += !power.killed;
  for (const contracts::PackResult& pack : result.packs) tally.failed_packs += !pack.error.empty();
  tally.checked = tally.kernels > 0 || result.codegen_cases > 0 || tally.controls > 0 ||
                  (!result.power.empty() && tally.declined_kernels == 0);
  return tally;
}

bool mutants_are_cases(const contracts::RunResult& result) {
  return std::any_of(result.cases.begin(), result.cases.end(), [](const contracts::CaseResult& one) {
    return one.state == State::red && one.clause == "gate1.power";
  });
}

}  // namespace nbx::reports
