// What a result adds up to. The summary, the exit code and the reports all count here, so that they cannot disagree.
#pragma once

#include <cstdint>
#include <vector>

#include "contracts/result.hpp"

namespace nbx::reports {

struct Tally {
  // Kernels that ran at least one case; a kernel with nothing worse than a known finding passes.
  std::int64_t kernels = 0, pass = 0, fail = 0, declined_kernels = 0;
  std::int64_t red_cases = 0, known_findings = 0, stale_findings = 0, live_mutants = 0, failed_packs = 0;
  // Never passes: the kernel refused, evidence is missing, evidence is older than the build.
  std::int64_t declined_cases = 0, pending_cases = 0, stale_cases = 0;
  // Controls whose verdict must be red; those proven equivalent or within the bound are counted apart.
  std::int64_t controls = 0, red_as_planted = 0, missed = 0, equivalent = 0, within_bound = 0, not_judged = 0;
  std::int64_t elements = 0, overflow_open = 0;
  std::vector<std::int64_t> escalations;  // by level, see oracle/verdict.hpp

  std::int64_t skipped() const { return declined_cases + pending_cases + stale_cases; }
  /// Red in the sense of the exit code, without --strict.
  bool red() const { return fail + red_cases + missed + stale_findings + live_mutants + failed_packs > 0; }
  /// False where nothing was judged: then nothing can pass. Power alone counts where it alone was asked for.
  bool checked = false;
};

Tally tally(const contracts::RunResult& result);

/// Whether live mutants stand among the red cases already, so that they are not told twice.
bool mutants_are_cases(const contracts::RunResult& result);

}  // namespace nbx::reports
