#include "reports/merge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace nbx::reports {
namespace {

using contracts::ControlResult;
using contracts::FindingResult;
using contracts::KernelResult;
using contracts::PackResult;
using contracts::RunResult;
using contracts::State;

template <class T, class Same>
T* find(std::vector<T>& list, Same same) {
  const auto found = std::find_if(list.begin(), list.end(), same);
  return found == list.end() ? nullptr : &*found;
}

void append_new(std::vector<std::string>& to, const std::vector<std::string>& from) {
  for (const std::string& text : from) {
    if (std::find(to.begin(), to.end(), text) == to.end()) to.push_back(text);
  }
}

// A state that hides none of the two: red before known before pass; a kernel that ran anywhere is not declined.
State worse(State a, State b) {
  for (const State state : {State::red, State::known, State::pass, State::stale, State::pending}) {
    if (a == state || b == state) return state;
  }
  return State::declined;
}

void merge_kernel(KernelResult& to, const KernelResult& from) {
  to.state = worse(to.state, from.state);
  to.cases += from.cases;
  to.red += from.red;
  to.known += from.known;
  to.declined += from.declined;
  to.skipped += from.skipped;
  to.elements += from.elements;
  to.overflow_open += from.overflow_open;
  to.seconds += from.seconds;
  if (to.escalations.size() < from.escalations.size()) to.escalations.resize(from.escalations.size());
  for (std::size_t level = 0; level < from.escalations.size(); ++level)
    to.escalations[level] += from.escalations[level];
  // Written so that a NaN share, which no bound holds, is kept.
  if (!from.worst_case.empty() && (to.worst_case.empty() || !(from.worst_share <= to.worst_share))) {
    to.worst_share = from.worst_share;
    to.worst_case = from.worst_case;
  }
}

void merge_kernels(RunResult& to, const RunResult& from) {
  for (const KernelResult& kernel : from.kernels) {
    KernelResult* same = find(
        to.kernels, [&](const KernelResult& one) { return one.kernel == kernel.kernel && one.pack == kernel.pack; });
    if (same) {
      merge_kernel(*same, kernel);
    } else {
      to.kernels.push_back(kernel);
    }
  }
}

int weight(ControlResult::Verdict verdict) {
  switch (verdict) {
    case ControlResult::Verdict::missed:
      return 4;
    case ControlResult::Verdict::red_as_planted:
      return 3;
    case ControlResult::Verdict::within_bound:
      return 2;
    case ControlResult::Verdict::equivalent:
      return 1;
    case ControlResult::Verdict::not_judged:
      break;
  }
  return 0;
}

void merge_controls(RunResult& to, const RunResult& from) {
  for (const ControlResult& control : from.controls) {
    ControlResult* same = find(to.controls, [&](const ControlResult& one) { return one.control == control.control; });
    if (!same) {
      to.controls.push_back(control);
    } else if (weight(control.verdict) > weight(same->verdict)) {
      *same = control;
    }
  }
}

void merge_findings(RunResult& to, const RunResult& from) {
  for (const FindingResult& finding : from.findings) {
    FindingResult* same = find(
        to.findings, [&](const FindingResult& one) { return one.id == finding.id && one.kernel == finding.kernel; });
    if (same) {
      same->showed = same->showed || finding.showed;
      same->judged = same->judged || finding.judged;
    } else {
      to.findings.push_back(finding);
    }
  }
}

void merge_packs(RunResult& to, const RunResult& from) {
  for (const PackResult& pack : from.packs) {
    PackResult* same = find(to.packs, [&](const PackResult& one) { return one.name == pack.name; });
    if (!same) {
      to.packs.push_back(pack);
      continue;
    }
    if (same->error.empty() != pack.error.empty() || same->toolchain != pack.toolchain || same->flags != pack.flags ||
        same->imitates != pack.imitates || same->device != pack.device) {
      to.harness_errors.push_back("the shards ran different builds of pack " + pack.name);
    }
    if (same->error.empty()) same->error = pack.error;
  }
}

void merge_into(RunResult& to, const RunResult& from) {
  to.cases.insert(to.cases.end(), from.cases.begin(), from.cases.end());
  to.power.insert(to.power.end(), from.power.begin(), from.power.end());
  to.cases_run += from.cases_run;
  to.seconds = std::max(to.seconds, from.seconds);
  to.interrupted = to.interrupted || from.interrupted;
  merge_kernels(to, from);
  merge_controls(to, from);
  merge_findings(to, from);
  merge_packs(to, from);
  append_new(to.unmatched, from.unmatched);
  append_new(to.notes, from.notes);
  append_new(to.harness_errors, from.harness_errors);
}

// A registered finding belongs to its kernel once, in however many shards it showed.
void count_findings(RunResult& result) {
  for (KernelResult& kernel : result.kernels) {
    kernel.findings = std::count_if(result.findings.begin(), result.findings.end(), [&](const FindingResult& finding) {
      return finding.kernel == kernel.kernel && finding.showed;
    });
  }
}

void check_shards(const std::vector<Shard>& shards, const Report& first, std::vector<std::string>& errors) {
  std::set<int> seen;
  for (const Shard& shard : shards) {
    if (!shard.report) continue;
    const Report& report = *shard.report;
    if (report.result.seed != first.result.seed || report.result.tier != first.result.tier ||
        report.shards != first.shards) {
      errors.push_back(fmt::format("{} is of another run: seed {}, {} tier, {} shards", shard.file, report.result.seed,
                                   report.result.tier, report.shards));
    } else if (!seen.insert(report.shard).second) {
      errors.push_back(fmt::format("{} is shard {} of {} a second time", shard.file, report.shard, report.shards));
    }
  }
  for (int shard = 1; shard <= first.shards; ++shard) {
    if (seen.count(shard) == 0) errors.push_back(fmt::format("shard {} of {} is missing", shard, first.shards));
  }
}

}  // namespace

Report merged(const std::vector<Shard>& shards) {
  Report out;
  std::vector<std::string> errors;
  const Report* first = nullptr;
  for (const Shard& shard : shards) {
    if (!shard.report) {
      errors.push_back(shard.file + ": " + shard.error);
      continue;
    }
    const Report& report = *shard.report;
    if (!first) {
      first = &report;
      out.result.seed = report.result.seed;
      out.result.tier = report.result.tier;
      out.result.command = report.result.command;
      out.start = report.start;
      out.stop = report.stop;
    }
    out.start = std::min(out.start, report.start);
    out.stop = std::max(out.stop, report.stop);
    out.strict = out.strict || report.strict;
    merge_into(out.result, report.result);
  }
  count_findings(out.result);
  if (first) check_shards(shards, *first, errors);
  append_new(out.result.harness_errors, errors);
  return out;
}

}  // namespace nbx::reports
