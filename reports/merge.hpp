// The reports of a run's shards, made one again.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reports/report.hpp"

namespace nbx::reports {

/// One argument of merge: its report, or why it could not be read.
struct Shard {
  std::string file;
  std::optional<Report> report;
  std::string error;
};

/// Totals, states and verdicts are derived anew. A report that cannot be read, a shard that is missing or there twice,
/// and shards of different runs (seed, tier, builds of a pack) are errors of the harness in the result, so that it
/// cannot pass.
Report merged(const std::vector<Shard>& shards);

}  // namespace nbx::reports
