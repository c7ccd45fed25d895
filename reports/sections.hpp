// The parts of a summary between the kernels and the last line. Each is empty where there is nothing to say, and else
// ends with an empty line.
#pragma once

#include <string>

#include "reports/paint.hpp"
#include "reports/red_text.hpp"
#include "reports/report.hpp"
#include "reports/tally.hpp"

namespace nbx::reports {

/// What makes the run red: packs that failed, red cases in full, missed controls, stale findings, live mutants.
std::string failures(const contracts::RunResult& result, const Paint& paint);

/// What is no verdict: declined kernels and cases with their reasons, pending and stale evidence, controls apart.
std::string unjudged(const Report& report, const Tally& tally, const Paint& paint);

/// How sharp the run was: families whose bounds are loose, and how often the oracle had to look closer.
std::string quality(const contracts::RunResult& result, const Tally& tally);

/// Errors of the harness, notes, and that the run ended early or checked nothing.
std::string notes(const contracts::RunResult& result, const Tally& tally, const Paint& paint);

/// Families whose worst share over all honest kernels stays under 1/50, with that share.
std::vector<std::pair<std::string, double>> loose_families(const contracts::RunResult& result);

}  // namespace nbx::reports
