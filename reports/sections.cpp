#include "reports/sections.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "reports/text.hpp"

namespace nbx::reports {
namespace {

using contracts::CaseResult;
using contracts::ControlResult;
using contracts::RunResult;
using contracts::State;

constexpr std::size_t section_width = 120;
constexpr double loose_share = 1.0 / 50;
// Of one kernel and clause, this many red cases are shown in full, and this many more by name.
constexpr std::size_t shown_in_full = 3, shown_by_name = 10;

using Lines = std::vector<std::pair<std::string, std::string>>;

std::string section(const std::string& title, const Lines& lines) {
  return lines.empty() ? "" : title + "\n" + labelled(lines, section_width) + "\n";
}

std::string failed_packs(const RunResult& result, const Paint& paint) {
  Lines lines;
  for (const contracts::PackResult& pack : result.packs) {
    if (!pack.error.empty()) lines.emplace_back(pack.file.empty() ? pack.name : pack.file, pack.error);
  }
  return section(paint.bad("packs that did not load"), lines);
}

std::string red_cases(const RunResult& result, const Paint& paint) {
  std::map<std::pair<std::string, std::string>, std::vector<const CaseResult*>> by_clause;
  for (const CaseResult& one : result.cases) {
    if (one.state == State::red) by_clause[{one.kernel, one.clause}].push_back(&one);
  }
  std::string out;
  for (const auto& [key, cases] : by_clause) {
    for (std::size_t i = 0; i < std::min(cases.size(), shown_in_full); ++i) out += red_text(*cases[i], paint) + "\n";
    if (cases.size() <= shown_in_full) continue;
    Lines more;
    const std::size_t named = std::min(cases.size(), shown_in_full + shown_by_name);
    for (std::size_t i = shown_in_full; i < named; ++i) more.emplace_back("also", cases[i]->name());
    if (named < cases.size()) {
      more.emplace_back("and", fmt::format("{} more, which --json lists in full", grouped(cases.size() - named)));
    }
    out += section(paint.strong(key.first) + "  " + key.second, more);
  }
  return out;
}

std::string missed_controls(const RunResult& result, const Paint& paint) {
  std::string out;
  for (const ControlResult& control : result.controls) {
    if (control.verdict != ControlResult::Verdict::missed) continue;
    const Lines lines{
        {"mutates", control.mutates},
        {"planted", control.planted},
        {"red at", control.red_at.empty() ? "no clause" : joined(control.red_at, ", ")},
        {"missed", control.why},
        {"again", fmt::format("./nbx-contract run {} --seed {}", shell_word(control.control), result.seed)}};
    out += section(paint.bad("missed control") + " " + control.control, lines);
  }
  return out;
}

std::string stale_findings(const RunResult& result, const Paint& paint) {
  Lines lines;
  for (const contracts::FindingResult& finding : result.findings) {
    if (!finding.stale()) continue;
    lines.emplace_back(finding.id, fmt::format("{} {}: {}", finding.kernel, finding.clause, finding.reason));
  }
  return section(paint.bad("stale findings") + ": the planted problem is green, so the entry has to go", lines);
}

std::string live_mutants(const RunResult& result, const Paint& paint) {
  if (mutants_are_cases(result)) return "";
  Lines lines;
  for (const contracts::PowerResult& power : result.power) {
    if (power.killed) continue;
    std::string text = fmt::format("{}, {}", power.arithmetic, power.size_class);
    if (!power.problem.empty()) {
      text += fmt::format("; best seen at {} × the bound by {}", share_text(power.multiple), power.problem);
    }
    lines.emplace_back(power.mutant, text);
  }
  return section(paint.bad("live mutants") + ": no problem tells them from the reference (gate1.power)", lines);
}

// A reason with its numbers left out: those that differ in them alone are told once.
std::string shape_of_reason(const std::string& reason) {
  std::string shape;
  for (const char c : reason) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit) shape += c;
    if (digit && (shape.empty() || shape.back() != '#')) shape += '#';
  }
  return shape;
}

// Cases in one state, one line per kernel and kind of reason.
Lines reasons(const RunResult& result, State state) {
  struct Told {
    std::int64_t cases = 0;
    std::set<std::string> reasons;
  };
  std::map<std::pair<std::string, std::string>, Told> told;
  for (const CaseResult& one : result.cases) {
    if (one.state != state) continue;
    Told& kind = told[{one.kernel, shape_of_reason(one.reason)}];
    ++kind.cases;
    kind.reasons.insert(one.reason);
  }
  Lines lines;
  for (const auto& [key, kind] : told) {
    const char* such = kind.reasons.size() > 1 ? ", such as: " : ": ";
    lines.emplace_back(key.first, counted(kind.cases, "case") + such + *kind.reasons.begin());
  }
  return lines;
}

Lines controls_apart(const RunResult& result) {
  Lines lines;
  std::map<std::string, std::int64_t> unjudged;  // by why
  for (const ControlResult& control : result.controls) {
    if (control.verdict == ControlResult::Verdict::equivalent) {
      lines.emplace_back(control.control, "equivalent: " + control.planted);
    } else if (control.verdict == ControlResult::Verdict::within_bound) {
      lines.emplace_back(control.control,
                         fmt::format("within bound, largest {} of it: {}", share_text(control.share), control.planted));
    } else if (control.verdict == ControlResult::Verdict::not_judged) {
      ++unjudged[control.why.empty() ? "the run did not end" : control.why];
    }
  }
  for (const auto& [why, controls] : unjudged)
    lines.emplace_back("not judged", counted(controls, "control") + ": " + why);
  return lines;
}

}  // namespace

std::string failures(const RunResult& result, const Paint& paint) {
  return failed_packs(result, paint) + red_cases(result, paint) + missed_controls(result, paint) +
         stale_findings(result, paint) + live_mutants(result, paint);
}

std::string unjudged(const Report& report, const Tally& tally, const Paint& paint) {
  const RunResult& result = report.result;
  std::string out = section(paint.warn("declined"), reasons(result, State::declined));
  out += section(paint.warn("pending"), reasons(result, State::pending));
  out += section(paint.warn("stale"), reasons(result, State::stale));
  out += section("controls apart", controls_apart(result));
  if (tally.skipped() > 0) {
    out += fmt::format("skipped, never passed: {} declined, {} pending, {} stale{}\n\n", grouped(tally.declined_cases),
                       grouped(tally.pending_cases), grouped(tally.stale_cases),
                       report.strict ? "; red under --strict" : "");
  }
  return out;
}

std::vector<std::pair<std::string, double>> loose_families(const RunResult& result) {
  std::map<std::string, double> worst;  // of the families in which an error was measured
  for (const contracts::KernelResult& kernel : result.kernels) {
    if (kernel.worst_case.empty()) continue;
    double& share = worst[kernel.kernel.substr(0, kernel.kernel.find('.'))];
    share = std::max(share, kernel.worst_share);
  }
  std::vector<std::pair<std::string, double>> loose;
  for (const auto& [family, share] : worst) {
    if (share < loose_share) loose.emplace_back(family, share);
  }
  return loose;
}

std::string quality(const RunResult& result, const Tally& tally) {
  Lines lines;
  for (const auto& [family, share] : loose_families(result)) {
    lines.emplace_back("loose",
                       fmt::format("{}: worst {} of bound, under 1/50; it declares more rounding than it shows", family,
                                   share_text(share)));
  }
  if (tally.elements > 0) {
    static constexpr std::array<const char*, 5> levels{"double", "double-double", "113 bits", "256 bits", "more"};
    std::vector<std::string> parts;
    for (std::size_t level = 1; level < std::min(levels.size(), tally.escalations.size()); ++level) {
      const double rate = 1e6 * static_cast<double>(tally.escalations[level]) / static_cast<double>(tally.elements);
      if (tally.escalations[level] > 0) parts.push_back(fmt::format("{} {}", levels[level], share_text(rate)));
    }
    lines.emplace_back("judged", fmt::format("{} elements; decided past double, per million: {}",
                                             grouped(tally.elements), parts.empty() ? "none" : joined(parts, ", ")));
  }
  if (tally.overflow_open > 0) {
    lines.emplace_back("open", fmt::format("{} elements that may overflow in the kernel, held to classes alone",
                                           grouped(tally.overflow_open)));
  }
  return lines.empty() ? "" : labelled(lines, section_width) + "\n";
}

std::string notes(const RunResult& result, const Tally& tally, const Paint& paint) {
  std::string out;
  for (const std::string& error : result.harness_errors) out += paint.bad("harness error") + " " + error + "\n";
  for (const std::string& note : result.notes) out += "note: " + note + "\n";
  if (result.interrupted) out += paint.bad("interrupted") + ": only what was finished is reported\n";
  for (const std::string& pattern : result.unmatched) {
    out += paint.bad("no match") + " for " + pattern + "\n";
  }
  if (!tally.checked) out += paint.bad("nothing was checked") + "\n";
  return out.empty() ? "" : out + "\n";
}

}  // namespace nbx::reports
