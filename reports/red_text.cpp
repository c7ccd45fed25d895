#include "reports/red_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "reports/text.hpp"

namespace nbx::reports {

std::string labelled(const std::vector<std::pair<std::string, std::string>>& lines, std::size_t width) {
  std::size_t column = 11;
  for (const auto& [label, text] : lines) column = std::max(column, width_of(label) + 3);
  const std::size_t room = std::max<std::size_t>(width > column + 2 ? width - column - 2 : 0, 40);
  std::string out;
  for (const auto& [label, text] : lines) {
    std::string_view first = label;
    for (const std::string& line : wrapped(text, room)) {
      out += fmt::format("  {}{}\n", left(first, column), line);
      first = "";
    }
  }
  return out;
}

std::string red_text(const contracts::CaseResult& one, const Paint& paint) {
  static const contracts::Red nothing;
  const contracts::Red& red = one.red ? *one.red : nothing;
  std::string out = paint.strong(one.kernel) + "  " + one.clause;
  if (!red.clause_sentence.empty()) out += ": " + red.clause_sentence;
  out += "\n";
  std::vector<std::pair<std::string, std::string>> lines = red.lines;
  if (lines.empty() || lines.front().first != "case") lines.insert(lines.begin(), {"case", one.name()});
  if (!one.reason.empty()) lines.emplace_back("reason", one.reason);
  if (!red.again.empty()) lines.emplace_back("again", red.again);
  return out + labelled(lines);
}

std::string red_line(const contracts::CaseResult& one) {
  if (one.red) {
    for (const auto& [label, text] : one.red->lines) {
      if (label != "case") return label + " " + text;
    }
    if (!one.red->clause_sentence.empty()) return "not held: " + one.red->clause_sentence;
  }
  return one.reason.empty() ? "red" : one.reason;
}

}  // namespace nbx::reports
