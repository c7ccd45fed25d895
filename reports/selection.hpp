// The words that say which kernels, clauses and problems are meant, the same for every subcommand.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "contracts/runner.hpp"
#include "reports/session.hpp"

namespace nbx::reports {

struct Selection {
  std::vector<std::string> patterns;
  std::vector<std::string> named_packs;
  std::string packs_folder;
  int gate = 0;
  std::string device;
  bool quick = false, full = false;
  std::uint64_t seed = 1;
  int jobs = 0;
  double timeout_seconds = 20;
};

/// PATTERN..., --gate and what add_scope adds.
void add_selection(CLI::App& app, Selection& selection);

/// --pack, --packs, --device, --quick, --full, --seed, --jobs, --timeout: where names are looked up, and what
/// determines inputs.
void add_scope(CLI::App& app, Selection& selection);

/// With the packs beside the command, cpu, controls and cuda in this order.
contracts::RunOptions run_options(const Selection& selection, const Session& session);

/// What is not beside the command though the selection would have it, one note each: "CUDA: ...".
std::vector<std::string> missing_packs(const contracts::RunOptions& options);

/// For patterns that select nothing: each with the names nearest to it, on standard error.
void suggest(const contracts::RunOptions& options, const std::vector<std::string>& patterns);

/// "quick", "default" or "full".
std::string tier_name(contracts::Tier tier);

}  // namespace nbx::reports
