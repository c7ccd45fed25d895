#include "reports/bisect/tell.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "reports/bisect/evidence.hpp"
#include "reports/element.hpp"
#include "reports/text.hpp"

namespace nbx::reports::bisect {
namespace {

std::string counted_size(std::size_t number, const char* noun) {
  return counted(static_cast<std::int64_t>(number), noun);
}

constexpr int flit_mean = 15;  // executions per search, FLiT's published mean (Bentley et al., HPDC 2019)

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

/// Of what a compiler said, the first line that names an error.
std::string error_line(const std::string& text) {
  const std::size_t error = text.find("error");
  const std::size_t before = error == std::string::npos ? error : text.rfind('\n', error);
  return before == std::string::npos ? first_line(text) : first_line(text.substr(before + 1));
}

std::string compiler_text(const Toolchain& toolchain, const Unit& unit) {
  std::string said = compiler_version(compile_words(unit, toolchain).front());
  const std::vector<std::string>& flags = unit.cuda ? toolchain.nvcc_flags : toolchain.cxx_flags;
  if (!flags.empty()) said += " " + joined(flags, " ");
  if (unit.cuda && !toolchain.ptxas.empty()) said += " with " + compiler_version(toolchain.ptxas);
  if (unit.cuda && !toolchain.ptxas_flags.empty()) said += ", ptxas " + joined(toolchain.ptxas_flags, " ");
  for (const auto& [pattern, more] : toolchain.unit_flags)
    said += fmt::format(", {} for {}", joined(more, " "), pattern);
  return said;
}

std::string names_of(const Set& set, const std::vector<std::string>& names) {
  std::vector<std::string> out;
  for (const std::size_t i : set) out.push_back(names[i]);
  return out.empty() ? "none" : joined(out, ", ");
}

std::string sets_text(const std::vector<std::vector<std::string>>& sets, const std::string& within) {
  std::vector<std::string> out;
  for (const auto& set : sets) out.push_back(joined(set, within));
  return joined(out, "; or ");
}

void tell_flags(FieldLines& lines, const FlagBlame& flags, Until until) {
  using Culprit = FlagBlame::Culprit;
  switch (flags.culprit) {
    case Culprit::flags:
    case Culprit::both: {
      const bool both = flags.culprit == Culprit::both;
      lines.field("flag", sets_text(flags.minimal, " and ") + (both ? ", with the bad compiler alone" : ""));
      for (const auto& [umbrella, minimal] : flags.parts) {
        lines.field("", minimal.empty() ? fmt::format("{} as a whole: none of its parts brings it", umbrella)
                                        : fmt::format("of {} it is {}", umbrella, sets_text(minimal, " and ")));
      }
      break;
    }
    case Culprit::compiler:
      lines.field("flag", "none: the compiler itself, with the good toolchain's flags");
      if (until == Until::code) break;  // other flags make other code in any case
      lines.field("", flags.undone_by.empty() ? "no flag that was tried gives the good answer again"
                                              : "the good answer again with " + joined(flags.undone_by, ", or "));
      break;
    case Culprit::unclear:
      lines.field("flag", "not told apart: flags and compiler, one by one, do not bring what both together bring");
  }
}

void tell_device(FieldLines& lines, const UnitEvidence& one) {
  if (!one.device) return;
  lines.field("PTX", fmt::format("{} -> {}   for {}", one.good_ptx, one.bad_ptx, one.architecture));
  for (const contracts::codegen::FunctionDifference& function : one.device->functions) {
    const std::string resources = resources_text(function);
    lines.field("device code",
                fmt::format("{:016x} -> {:016x}   {}{}", function.machine_code_before, function.machine_code_after,
                            demangled(function.function), resources.empty() ? "" : ": " + resources));
  }
  if (one.device->functions.empty()) lines.field("device code", "the same in every function");
}

void tell_blame(FieldLines& lines, const Blame& blame, std::size_t number, Until until) {
  lines.line("");
  lines.line(
      fmt::format("  {}  {}{}", number, joined(blame.units, " + "), blame.units.size() > 1 ? "   only together" : ""));
  if (!blame.changed.empty()) {
    std::set<std::string> kernels;
    for (const ChangedCase& one : blame.changed) kernels.insert(one.kernel);
    lines.field("changes", fmt::format("{} of {}", counted_size(blame.changed.size(), "case"),
                                       joined({kernels.begin(), kernels.end()}, ", ")));
    const ChangedCase& first = blame.changed.front();
    lines.field("outputs", fmt::format("{} -> {}   {}", first.good, first.bad, first.name));
  }
  if (blame.difference) {
    lines.field("first", fmt::format("{}({})", blame.changed.front().kernel, blame.difference_case));
    reports::tell_element(lines, *blame.difference, "good", "bad");
  }
  if (blame.stage.culprit != StageBlame::Culprit::not_asked) lines.field("stage", stage_text(blame.stage.culprit));
  if (!blame.stage.why_not.empty()) lines.field("", first_line(blame.stage.why_not));
  tell_flags(lines, blame.flags, until);
  for (const UnitEvidence& one : blame.evidence) {
    if (blame.evidence.size() > 1) lines.field("unit", one.unit);
    if (!one.good_code.empty()) {
      lines.field("code", one.good_code.substr(0, 16) + " -> " + one.bad_code.substr(0, 16));
      lines.field("function", one.functions.empty() ? one.functions_note : sets_text(one.functions, " and "));
    }
    if (!one.instructions.empty()) lines.field("", one.instructions);
    tell_device(lines, one);
  }
}

void tell_search(FieldLines& lines, const Result& result, Until until) {
  const Found& found = result.found;
  lines.field("units", fmt::format("{}, of which {} compile to other code", result.units, result.suspects));
  if (until == Until::code) {
    lines.field("search", "none: a unit's code depends on that unit alone");
    lines.field("cache", fmt::format("{} built, {} kept from before", result.built, result.remembered));
  } else {
    lines.field("search", fmt::format("{}, {} of them to look for a breach of monotonicity",
                                      counted_size(found.evaluations + found.audited, "evaluation"), found.audited));
    lines.field("", fmt::format("(one by one: {}; FLiT's published mean: {})", result.suspects, flit_mean));
    lines.field("cache", fmt::format("{} built, {} kept from before; {} packs judged twice each, {} verdicts kept from "
                                     "before",
                                     result.built, result.remembered, result.judged, result.recalled));
  }
  for (const Untestable& one : result.untestable) {
    lines.field("untested", fmt::format("{} cannot be tested: {} does not compile it: {}", one.unit, one.toolchain,
                                        error_line(one.why)));
  }
  for (const std::string& why : result.untested) {
    lines.field("untested", fmt::format("a mix cannot be tested: {}", error_line(why)));
  }
  for (const std::string& kernel : result.unstable) {
    lines.field("unstable",
                fmt::format("{} gives other answers from run to run, so no compiler is blamed for them", kernel));
  }
  for (const auto& [inner, outer] : found.breaches) {
    lines.field("breach", fmt::format("{} brings the change, and {} does not: the sets below may not be all",
                                      names_of(inner, result.suspect_names), names_of(outer, result.suspect_names)));
  }
  if (!found.complete) lines.field("", "the search is not complete: sets may be missing");
}

/// What was found, and never without what could not be asked.
std::string headline(const Result& result) {
  const std::size_t sets = result.blames.size();
  std::string out = sets != 0 ? fmt::format("BISECT {} of units {} the change", counted_size(sets, "minimal set"),
                                            sets == 1 ? "brings" : "bring")
                    : !result.found.complete    ? "BISECT no set was found, and not every mix could be tested"
                    : result.untestable.empty() ? "BISECT nothing changed"
                                                : "BISECT nothing changed in what could be tested";
  if (!result.untestable.empty())
    out += fmt::format("; {} cannot be tested", counted_size(result.untestable.size(), "unit"));
  if (!result.unstable.empty()) {
    out += fmt::format("; {} not the same from run to run", counted_size(result.unstable.size(), "kernel"));
  }
  return out;
}

}  // namespace

std::string text(const Result& result, const Settings& settings, std::size_t width) {
  FieldLines lines(width);
  // Of a pack with CUDA units these are what the question is about.
  const std::vector<Unit>& units = settings.pack.units;
  const auto cuda = std::find_if(units.begin(), units.end(), [](const Unit& one) { return one.cuda; });
  const Unit& unit = cuda == units.end() ? units.front() : *cuda;
  lines.line(fmt::format("bisect until {}", until_name(settings.until)));
  lines.field("good", fmt::format("{}: {}", settings.good.name, compiler_text(settings.good, unit)));
  lines.field("bad", fmt::format("{}: {}", settings.bad.name, compiler_text(settings.bad, unit)));
  tell_search(lines, result, settings.until);
  for (std::size_t i = 0; i < result.blames.size(); ++i) tell_blame(lines, result.blames[i], i + 1, settings.until);
  lines.line("");
  lines.line(headline(result));
  return lines.out;
}

std::string json_text(const Result& result, const Settings& settings) {
  using nlohmann::json;
  static constexpr const char* culprits[] = {"flags", "compiler", "both", "unclear"};
  json out{{"good", json::parse(to_json(settings.good))},
           {"bad", json::parse(to_json(settings.bad))},
           {"until", until_name(settings.until)},
           {"units", result.units},
           {"suspects", result.suspects},
           {"evaluations", result.found.evaluations},
           {"audited", result.found.audited},
           {"complete", result.found.complete},
           {"unstable", result.unstable},
           {"built", result.built},
           {"remembered", result.remembered},
           {"judged", result.judged},
           {"recalled", result.recalled},
           {"sets", json::array()},
           {"breaches", json::array()},
           {"untestable", json::array()}};
  for (const Untestable& one : result.untestable) {
    out["untestable"].push_back({{"unit", one.unit}, {"toolchain", one.toolchain}, {"why", one.why}});
  }
  for (const auto& [inner, outer] : result.found.breaches) {
    out["breaches"].push_back({names_of(inner, result.suspect_names), names_of(outer, result.suspect_names)});
  }
  for (const Blame& blame : result.blames) {
    json one{{"units", blame.units},
             {"stage", stage_name(blame.stage.culprit)},
             {"culprit", culprits[static_cast<int>(blame.flags.culprit)]},
             {"flags", blame.flags.minimal},
             {"parts", blame.flags.parts},
             {"undone_by", blame.flags.undone_by},
             {"difference", blame.difference ? element_json(*blame.difference, blame.difference_case, "good", "bad")
                                             : json(nullptr)}};
    for (const ChangedCase& changed : blame.changed) {
      one["changed"].push_back(
          {{"kernel", changed.kernel}, {"case", changed.name}, {"good", changed.good}, {"bad", changed.bad}});
    }
    for (const UnitEvidence& evidence : blame.evidence) {
      one["evidence"].push_back({{"unit", evidence.unit},
                                 {"good_code", evidence.good_code},
                                 {"bad_code", evidence.bad_code},
                                 {"architecture", evidence.architecture},
                                 {"good_ptx", evidence.good_ptx},
                                 {"bad_ptx", evidence.bad_ptx},
                                 {"device_functions", evidence.device ? evidence.device->functions.size() : 0},
                                 {"functions", evidence.functions},
                                 {"functions_note", evidence.functions_note},
                                 {"instructions", evidence.instructions}});
    }
    out["sets"].push_back(std::move(one));
  }
  return out.dump(1) + "\n";
}

}  // namespace nbx::reports::bisect
