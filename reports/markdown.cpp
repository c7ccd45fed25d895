#include "reports/markdown.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "reports/entries.hpp"
#include "reports/kernel_table.hpp"
#include "reports/summary.hpp"
#include "reports/tally.hpp"
#include "reports/text.hpp"

namespace nbx::reports {
namespace {

// Room for the line that says what was cut.
constexpr std::size_t reserve = 256;

// Text of a table's cell: one line, and no character that ends the cell or starts mark-up.
std::string cell(const std::string& text) {
  std::string out;
  for (const char c : printable(text)) {
    if (c == '\n' || c == '\t') {
      out += ' ';
    } else {
      if (std::string_view("|\\`*_<>[]&~").find(c) != std::string_view::npos) out += '\\';
      out += c;
    }
  }
  return out;
}

// A block of code whose fence is longer than any run of backticks within.
std::string fenced(const std::string& text) {
  std::size_t longest = 2, run = 0;
  for (const char c : text) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  const std::string fence(longest + 1, '`');
  return fence + "text\n" + printable(text) + (!text.empty() && text.back() == '\n' ? "" : "\n") + fence + "\n";
}

std::string kernel_row(const contracts::KernelResult& kernel, const contracts::RunResult& result) {
  return fmt::format("| {} | {} | {} | {} | {} |\n", verdict_word(kernel), cell(kernel.kernel), grouped(kernel.cases),
                     cell(kernel_remark(kernel, result, 200)), duration(kernel.seconds));
}

// The report in pieces that can be left out from the end, each with what it is.
struct Piece {
  std::string text, kind;
};

std::vector<Piece> pieces(const Report& report) {
  std::vector<Piece> out;
  const auto add = [&](std::string text, const char* kind) { out.push_back({std::move(text), kind}); };
  const std::vector<Entry> list = entries(report);
  const auto not_passed = [](const Entry& entry) {
    return entry.status == Entry::Status::failed || entry.status == Entry::Status::error;
  };
  if (std::any_of(list.begin(), list.end(), not_passed)) add("\n### Failures\n\n", "heading");
  for (const Entry& entry : list) {
    if (!not_passed(entry)) continue;
    add(fmt::format("**{}** {}\n\n{}", cell(entry.suite), cell(entry.name),
                    fenced(entry.message + (entry.trace.empty() ? "" : "\n\n" + entry.trace))) +
            "\n",
        "failure");
  }
  if (!report.result.kernels.empty()) {
    add("\n### Kernels\n\n| verdict | kernel | cases | worst error | time |\n|---|---|--:|---|--:|\n", "heading");
  }
  for (const auto& kernel : report.result.kernels) add(kernel_row(kernel, report.result), "kernel");
  const bool skips =
      std::any_of(list.begin(), list.end(), [](const Entry& entry) { return entry.status == Entry::Status::skipped; });
  if (skips) add("\n### Skipped, never passed\n\n| test | reason |\n|---|---|\n", "heading");
  for (const Entry& entry : list) {
    if (entry.status != Entry::Status::skipped) continue;
    add(fmt::format("| {} | {} |\n", cell(entry.name), cell(entry.message)), "skipped test");
  }
  if (!report.result.notes.empty()) add("\n", "heading");
  for (const std::string& note : report.result.notes) add("- " + cell(note) + "\n", "note");
  return out;
}

}  // namespace

std::string to_markdown(const Report& report, std::size_t limit) {
  std::string out = "## nbx-contract\n\n" + fenced(summary_line(report.result, tally(report.result)));
  std::vector<std::pair<std::string, std::int64_t>> cut;  // kind, how many
  for (const Piece& piece : pieces(report)) {
    if (cut.empty() && out.size() + piece.text.size() + reserve < limit) {
      out += piece.text;
      continue;
    }
    auto same = std::find_if(cut.begin(), cut.end(), [&](const auto& entry) { return entry.first == piece.kind; });
    if (same == cut.end()) same = cut.insert(cut.end(), {piece.kind, 0});
    ++same->second;
  }
  if (cut.empty()) return out;
  std::vector<std::string> parts;
  for (const auto& [kind, number] : cut) {
    if (kind != "heading") parts.push_back(counted(number, kind));
  }
  return out + fmt::format("\nCut here to stay below {} bytes. Left out: {}. The other reports have them.\n",
                           grouped(static_cast<std::int64_t>(limit)), joined(parts, ", "));
}

}  // namespace nbx::reports
