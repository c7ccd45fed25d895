#include "reports/entries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "reports/red_text.hpp"
#include "reports/tally.hpp"
#include "reports/text.hpp"

namespace nbx::reports {
namespace {

using contracts::CaseResult;
using contracts::ControlResult;
using contracts::RunResult;
using contracts::State;
using Status = Entry::Status;

Entry entry(std::string suite, std::string name, Status status, std::string message) {
  return {std::move(suite), std::move(name), status, std::move(message), {}, 0, nullptr};
}

std::string skipped_word(State state) {
  return state == State::declined ? "declined" : state == State::pending ? "pending" : "stale";
}

Entry case_entry(const CaseResult& one, bool strict) {
  Entry result = entry(one.kernel, one.name(), Status::passed, "");
  result.of_case = &one;
  result.seconds = one.seconds;
  switch (one.state) {
    case State::pass:
      break;
    case State::red:
      result.status = Status::failed;
      result.message = red_line(one);
      result.trace = red_text(one, Paint{});
      break;
    case State::known:
      result.message = "known finding: " + one.reason;
      if (one.red) result.trace = red_text(one, Paint{});
      break;
    case State::declined:
    case State::pending:
    case State::stale:
      result.status = strict ? Status::failed : Status::skipped;
      result.message = skipped_word(one.state) + ": " + one.reason + (strict ? " (red under --strict)" : "");
      break;
  }
  return result;
}

void add_cases(const Report& report, std::vector<Entry>& out) {
  std::map<std::string, std::int64_t> listed;  // per kernel
  std::map<std::string, double> seconds;
  for (const CaseResult& one : report.result.cases) {
    out.push_back(case_entry(one, report.strict));
    seconds[one.kernel] += one.seconds;
    listed[one.kernel] += one.state == State::pass || one.state == State::red || one.state == State::known;
  }
  for (const contracts::KernelResult& kernel : report.result.kernels) {
    const std::int64_t further = kernel.cases - listed[kernel.kernel];
    if (further <= 0) continue;
    out.push_back(entry(kernel.kernel,
                        fmt::format("{}: {} that passed", kernel.kernel, counted(further, "further case")),
                        Status::passed, ""));
    out.back().seconds = std::max(kernel.seconds - seconds[kernel.kernel], 0.0);
  }
}

void add_controls(const RunResult& result, std::vector<Entry>& out) {
  for (const ControlResult& control : result.controls) {
    Entry one = entry("controls", control.control, Status::passed, "");
    switch (control.verdict) {
      case ControlResult::Verdict::red_as_planted:
        break;
      case ControlResult::Verdict::missed:
        one.status = Status::failed;
        one.message = "missed: " + control.why;
        one.trace = "planted: " + control.planted;
        break;
      case ControlResult::Verdict::equivalent:
        one.message = "equivalent: " + control.planted;
        break;
      case ControlResult::Verdict::within_bound:
        one.message = fmt::format("within bound, largest {} of it: {}", share_text(control.share), control.planted);
        break;
      case ControlResult::Verdict::not_judged:
        one.status = Status::skipped;
        one.message = control.why.empty() ? "not judged" : "not judged: " + control.why;
        break;
    }
    out.push_back(std::move(one));
  }
}

void add_power(const RunResult& result, std::vector<Entry>& out) {
  for (const contracts::PowerResult& power : result.power) {
    const std::string name = fmt::format("gate1.power({}, {}, {})", power.arithmetic, power.size_class, power.mutant);
    if (power.killed) {
      out.push_back(entry("power", name, Status::passed,
                          fmt::format("{} × the bound by {}", share_text(power.multiple), power.problem)));
    } else if (!mutants_are_cases(result)) {
      out.push_back(entry("power", name, Status::failed, "no problem tells this mutant from the reference"));
    }
  }
}

void add_the_rest(const RunResult& result, std::vector<Entry>& out) {
  for (const contracts::FindingResult& finding : result.findings) {
    if (!finding.stale()) continue;
    out.push_back(entry("findings", finding.id + " in " + finding.kernel, Status::failed,
                        "stale: its planted problem is green, so the entry has to go: " + finding.reason));
  }
  for (const contracts::PackResult& pack : result.packs) {
    if (pack.error.empty()) continue;
    out.push_back(entry("packs", pack.file.empty() ? pack.name : pack.file, Status::failed, pack.error));
  }
  for (const std::string& error : result.harness_errors) {
    out.push_back(entry("harness", "harness error", Status::error, error));
  }
  if (result.interrupted) {
    out.push_back(entry("harness", "interrupted", Status::error, "only what was finished is reported"));
  }
  for (const std::string& pattern : result.unmatched) {
    out.push_back(entry("harness", "no match for " + pattern, Status::error, "this pattern selects nothing"));
  }
  if (!tally(result).checked)
    out.push_back(entry("harness", "nothing was checked", Status::error, "no case was judged"));
}

}  // namespace

std::vector<Entry> entries(const Report& report) {
  std::vector<Entry> out;
  add_cases(report, out);
  add_controls(report.result, out);
  add_power(report.result, out);
  add_the_rest(report.result, out);
  return out;
}

EntryCounts count(const std::vector<Entry>& entries) {
  EntryCounts counts;
  for (const Entry& one : entries) {
    ++counts.tests;
    counts.passed += one.status == Status::passed;
    counts.failed += one.status == Status::failed;
    counts.errors += one.status == Status::error;
    counts.skipped += one.status == Status::skipped;
  }
  return counts;
}

}  // namespace nbx::reports
