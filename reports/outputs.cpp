#include "reports/outputs.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "reports/exit_code.hpp"
#include "reports/json.hpp"
#include "reports/junit.hpp"
#include "reports/markdown.hpp"
#include "reports/session.hpp"
#include "reports/summary.hpp"
#include "reports/terminal.hpp"
#include "reports/write_file.hpp"

namespace nbx::reports {
namespace {

bool print(const std::string& text) {
  const bool whole = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  return std::fflush(stdout) == 0 && whole;
}

}  // namespace

void add_outputs(CLI::App& app, Outputs& outputs) {
  app.add_flag("--summary", outputs.summary, "Every kernel, one line each; else only what is not a plain pass");
  app.add_flag("--strict", outputs.strict, "Declined, pending and stale cases are red too");
  app.add_flag("--bisect-exit", outputs.bisect_exit, "Exit codes for git bisect run: 0, 1 for red, 125 for all else");
  app.add_option("--json", outputs.json, "Write a report in the CTRF shape, which merge reads")->type_name("FILE");
  app.add_option("--junit", outputs.junit, "Write a JUnit report")->type_name("FILE");
  app.add_option("--markdown", outputs.markdown, "Write a report for a CI page, under 1 MiB")->type_name("FILE");
}

void check_outputs(const Outputs& outputs) {
  std::vector<std::filesystem::path> seen;
  for (const std::string& file : {outputs.json, outputs.junit, outputs.markdown}) {
    if (file.empty()) continue;
    const std::filesystem::path path = std::filesystem::absolute(file).lexically_normal();
    if (std::find(seen.begin(), seen.end(), path) != seen.end()) throw UsageError("two reports in one file: " + file);
    seen.push_back(path);
  }
}

int deliver(Report report, const Outputs& outputs) {
  report.strict = report.strict || outputs.strict;
  std::vector<std::string> errors;
  const auto write = [&](const std::string& file, std::string (*text)(const Report&)) {
    if (file.empty()) return;
    std::string error = write_file(file, text(report));
    if (!error.empty()) errors.push_back(std::move(error));
  };
  write(outputs.json, to_json);
  write(outputs.junit, to_junit);
  write(outputs.markdown, [](const Report& whole) { return to_markdown(whole); });
  std::vector<std::string>& harness = report.result.harness_errors;
  harness.insert(harness.end(), errors.begin(), errors.end());

  SummaryOptions options;
  options.all = outputs.summary;
  options.width = std::max<std::size_t>(terminal_width(STDOUT_FILENO), 80);
  options.paint.colour = shows_colour(STDOUT_FILENO);
  if (!print(summary(report, options))) {
    const std::string error = std::string("standard output: ") + std::strerror(errno);
    std::fprintf(stderr, "nbx-contract: %s\n", error.c_str());
    harness.push_back(error);
  }
  return exit_code(report.result, report.strict);
}

}  // namespace nbx::reports
