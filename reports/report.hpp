// A run as it is reported: what was found, and how the run came about.
#pragma once

#include <cstdint>

#include "contracts/result.hpp"

namespace nbx::reports {

struct Report {
  contracts::RunResult result;
  int shard = 1, shards = 1;         // I of N
  bool strict = false;               // declined, pending and stale cases are red too
  std::int64_t start = 0, stop = 0;  // milliseconds since 1970
};

/// The project's version, "0.1".
const char* version();

}  // namespace nbx::reports
