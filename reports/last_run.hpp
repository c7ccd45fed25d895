// What `run --last-failed` repeats: the red cases of the run before, and what determines their inputs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "contracts/result.hpp"

namespace nbx::reports {

struct LastRun {
  std::vector<std::string> red;  // names of cases
  std::uint64_t seed = 1;
  std::string tier;
  std::vector<std::string> packs;  // absolute paths of those that were named by --pack
};

/// Whether a run replaces what is remembered: not one that judged nothing, nor one that was interrupted before any red.
bool worth_remembering(const contracts::RunResult& result);

LastRun last_run(const contracts::RunResult& result, const std::vector<std::filesystem::path>& named_packs);

/// Returns why it could not be written, else empty.
std::string remember(const std::filesystem::path& file, const LastRun& run);

/// Throws std::runtime_error with the reason, in particular where there was no run.
LastRun recall(const std::filesystem::path& file);

}  // namespace nbx::reports
