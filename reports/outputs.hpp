// Where a report goes: the summary on standard output, and files.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "reports/report.hpp"

namespace nbx::reports {

struct Outputs {
  bool summary = false, strict = false, bisect_exit = false;
  std::string json, junit, markdown;
};

/// --summary, --strict, --bisect-exit, --json, --junit, --markdown.
void add_outputs(CLI::App& app, Outputs& outputs);

/// Throws UsageError where two reports would be written to one file.
void check_outputs(const Outputs& outputs);

/// Writes the files, prints the summary, returns the exit code. A file that cannot be written is an error of the
/// harness, said in the summary.
int deliver(Report report, const Outputs& outputs);

}  // namespace nbx::reports
