// The end of a run, for a person.
#pragma once

#include <string>

#include "reports/paint.hpp"
#include "reports/report.hpp"
#include "reports/tally.hpp"

namespace nbx::reports {

struct SummaryOptions {
  bool all = true;          // every kernel, packs, loose families, escalations; else only what is not a plain pass
  std::size_t width = 120;  // of the terminal
  Paint paint;
};

/// The last line, without a line feed: "SUMMARY 142 kernels: 142 pass gates 1-4, 0 fail, 2 known findings; 33 controls:
/// 33 red as planted, 0 missed"; of gate 5, which has a run of its own, "SUMMARY gate 5: 75 kernels × 3 architectures
/// by nvcc 13.0.88, g++ 12.2.0: 450 cases: 450 hold, 0 red, 0 pending, 0 stale".
std::string summary_line(const contracts::RunResult& result, const Tally& tally);

/// Kernels, failures in full, then all that a reader must know of what was not judged, then the last line.
std::string summary(const Report& report, const SummaryOptions& options);

}  // namespace nbx::reports
