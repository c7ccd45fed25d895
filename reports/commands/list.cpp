// nbx-contract list: what there is to select from.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "contracts/runner.hpp"
#include "reports/commands/commands.hpp"
#include "reports/exit_code.hpp"
#include "reports/selection.hpp"
#include "reports/text.hpp"

namespace nbx::reports {
namespace {

struct Words {
  std::string kind = "kernels";
  Selection selection;
};

using Rows = std::vector<std::vector<std::string>>;

// Columns as wide as their widest cell; the last is not padded.
std::string table(const Rows& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  }
  std::string out;
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) out += i + 1 < row.size() ? left(row[i], widths[i]) + "   " : row[i];
    out += "\n";
  }
  return out;
}

Rows kernel_rows(const contracts::Listing& listing) {
  Rows rows;
  for (const auto& kernel : listing.kernels) {
    rows.push_back(
        {kernel.name, kernel.pack, kernel.device, kernel.family, "promises " + joined(kernel.promises, ", ")});
    for (const std::string& reason : kernel.not_promised) rows.push_back({"", "", "", "", "not promised " + reason});
  }
  return rows;
}

Rows clause_rows(const contracts::Listing& listing) {
  Rows rows;
  for (const auto& clause : listing.clauses) {
    rows.push_back({clause.id, clause.tier, joined(clause.families, ", "), clause.sentence});
    if (!clause.source.empty()) rows.push_back({"", "", "", "from " + clause.source});
  }
  return rows;
}

Rows control_rows(const contracts::Listing& listing) {
  Rows rows;
  for (const auto& control : listing.controls) {
    const std::string red = control.red_at.empty() ? control.verdict : "red at " + joined(control.red_at, ", ");
    rows.push_back({control.name, control.mutates, red, control.planted});
  }
  return rows;
}

Rows problem_rows(const contracts::Listing& listing) {
  Rows rows;
  for (const auto& problem : listing.problems) rows.push_back({problem.family, problem.tier, problem.name});
  return rows;
}

Rows power_rows(const contracts::RunOptions& options) {
  Rows rows;
  for (const contracts::PowerResult& one : contracts::power(options)) {
    const std::string multiple = share_text(one.multiple) + " × the bound";
    rows.push_back({one.killed ? "killed" : "LIVE", one.arithmetic, one.size_class, one.mutant, multiple, one.problem});
  }
  return rows;
}

Rows rows_of(const std::string& kind, const contracts::RunOptions& options) {
  if (kind == "power") return power_rows(options);
  const contracts::Listing listing = contracts::list(options);
  for (const contracts::PackResult& pack : listing.packs) {
    if (!pack.error.empty()) fmt::print(stderr, "nbx-contract: {}: {}\n", pack.file, pack.error);
  }
  if (kind == "clauses") return clause_rows(listing);
  if (kind == "controls") return control_rows(listing);
  if (kind == "problems") return problem_rows(listing);
  return kernel_rows(listing);
}

int print_list(const Words& words, const Session& session) {
  const contracts::RunOptions options = run_options(words.selection, session);
  for (const std::string& note : missing_packs(options)) fmt::print(stderr, "note: {}\n", note);
  const Rows rows = rows_of(words.kind, options);
  if (rows.empty()) {
    fmt::print(stderr, "nbx-contract: there are no {} in this selection\n", words.kind);
    suggest(options, words.selection.patterns);
    return exit_nothing;
  }
  fmt::print("{}", table(rows));
  return exit_ok;
}

}  // namespace

void add_list(CLI::App& app, Session& session) {
  auto* list = app.add_subcommand("list", "Kernels, clauses, controls, problems, or the power of the problems");
  auto words = std::make_shared<Words>();
  list->add_option("KIND", words->kind, "kernels, clauses, controls, problems or power (kernels)")
      ->type_name("")
      ->check(CLI::IsMember({"kernels", "clauses", "controls", "problems", "power"}));
  add_selection(*list, words->selection);
  list->footer(
      "Examples:\n"
      "  nbx-contract list kernels 'softmax.*'\n"
      "  nbx-contract list power        which problem tells which wrong reference, at which multiple of the bound");
  list->callback([words, &session] { session.action = [words, &session] { return print_list(*words, session); }; });
}

}  // namespace nbx::reports
