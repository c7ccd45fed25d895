#include "reports/diff/tell.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "reports/bisect/evidence.hpp"
#include "reports/element.hpp"

namespace nbx::reports::diff {
namespace {

using contracts::codegen::FunctionDifference;
using nlohmann::json;

constexpr std::size_t most_outputs = 4, most_names = 6;

std::string counted_size(std::size_t number, const char* noun) {
  return counted(static_cast<std::int64_t>(number), noun);
}

/// "0, 3-5".
std::string ranges(const std::vector<std::size_t>& numbers) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t j = i;
    while (j + 1 < numbers.size() && numbers[j + 1] == numbers[j] + 1) ++j;
    parts.push_back(i == j ? std::to_string(numbers[i]) : fmt::format("{}-{}", numbers[i], numbers[j]));
    i = j + 1;
  }
  return joined(parts, ", ");
}

std::string some_of(const std::vector<std::string>& names) {
  std::vector<std::string> some(names.begin(),
                                names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), most_names)));
  if (names.size() > some.size()) some.push_back(fmt::format("{} more", names.size() - some.size()));
  return joined(some, "; ");
}

void tell_presence(FieldLines& lines, const std::vector<std::string>& gone, const std::vector<std::string>& added) {
  if (!gone.empty()) lines.field("only first", some_of(gone));
  if (!added.empty()) lines.field("only second", some_of(added));
}

void tell_kernel(FieldLines& lines, const KernelBits& kernel) {
  lines.line("");
  lines.line(fmt::format("  {}   {} of {} cases changed", kernel.kernel, kernel.changed_cases, kernel.cases));
  for (std::size_t i = 0; i < std::min(kernel.changed.size(), most_outputs); ++i) {
    const ChangedOutput& one = kernel.changed[i];
    lines.field("changed", fmt::format("{} block {} of {}: {}", one.output, ranges(one.blocks),
                                       counted_size(one.of, "block"), one.problem));
  }
  if (kernel.changed.size() > most_outputs) {
    lines.field("", fmt::format("{} more outputs", kernel.changed.size() - most_outputs));
  }
  tell_presence(lines, kernel.gone, kernel.added);
  if (kernel.changed.empty()) return;
  if (kernel.elements) {
    lines.field("case", fmt::format("{}({})", kernel.kernel, kernel.element_case));
    tell_element(lines, *kernel.elements, "first", "second");
  } else {
    lines.field("", "elements are not told apart: " + kernel.no_elements);
  }
}

std::string how_it_differs(const KernelCode& one) {
  if (!one.code_differs()) return "the same machine code";
  return one.difference.ptx ? "other machine code, other PTX" : "other machine code from the same PTX";
}

void tell_compilation(FieldLines& lines, const KernelCode& one) {
  lines.line("");
  lines.line(fmt::format("  {} for {}   {}", one.kernel, one.architecture, how_it_differs(one)));
  for (const FunctionDifference& function : one.difference.functions) {
    lines.field("function", bisect::demangled(function.function));
    switch (function.kind) {
      case FunctionDifference::Kind::gone:
        lines.field("", "is no longer there");
        continue;
      case FunctionDifference::Kind::added:
        lines.field("", "is new");
        continue;
      case FunctionDifference::Kind::changed:
        break;
    }
    const std::string resources = resources_text(function);
    lines.field("", fmt::format("{}{}", resources.empty() ? "the same resources" : resources,
                                function.code ? fmt::format("; code {} -> {} bytes", grouped(function.code_before),
                                                            grouped(function.code_after))
                                              : "; the same code"));
  }
  if (one.stage.culprit != bisect::StageBlame::Culprit::not_asked) {
    lines.field("stage", bisect::stage_text(one.stage.culprit));
  }
  if (!one.stage.why_not.empty()) lines.field("", one.stage.why_not);
}

std::size_t with_code(const CodeDiff& code) {
  return static_cast<std::size_t>(std::count_if(code.differing.begin(), code.differing.end(),
                                                [](const KernelCode& one) { return one.code_differs(); }));
}

std::size_t with_resources(const CodeDiff& code) {
  return static_cast<std::size_t>(std::count_if(code.differing.begin(), code.differing.end(),
                                                [](const KernelCode& one) { return one.resources_differ(); }));
}

std::string code_summary(const CodeDiff& code) {
  return fmt::format("DIFF code: {}, {} compared: {} with other machine code, {} with other resources, {} only in one",
                     counted_size(code.kernels, "kernel"), counted_size(code.compilations, "compilation"),
                     with_code(code), with_resources(code), code.gone.size() + code.added.size());
}

std::string bits_summary(const BitsDiff& bits) {
  std::size_t changed = 0, kernels = 0, alone = bits.gone.size() + bits.added.size(), within = 0, outside = 0;
  for (const KernelBits& kernel : bits.differing) {
    changed += kernel.changed_cases;
    kernels += kernel.changed_cases != 0;
    alone += kernel.gone.size() + kernel.added.size();
    within += kernel.within;
    outside += kernel.outside;
  }
  std::string text = fmt::format("DIFF bits: {}, {} compared: {} of {} changed, {} only in one",
                                 counted_size(bits.kernels, "kernel"), counted_size(bits.cases, "case"),
                                 counted_size(changed, "case"), counted_size(kernels, "kernel"), alone);
  if (within + outside > 0) {
    text += fmt::format("; {} stay within the bound, {} leave it", within, outside);
  }
  return text;
}

json kernel_json(const KernelBits& kernel) {
  json changed = json::array();
  for (const ChangedOutput& one : kernel.changed) {
    changed.push_back({{"problem", one.problem}, {"output", one.output}, {"blocks", one.blocks}, {"of", one.of}});
  }
  json out{{"kernel", kernel.kernel}, {"cases", kernel.cases},     {"changed_cases", kernel.changed_cases},
           {"changed", changed},      {"only_first", kernel.gone}, {"only_second", kernel.added}};
  if (kernel.elements) {
    out["element"] = element_json(*kernel.elements, kernel.element_case, "first", "second");
    out["within"] = kernel.within;
    out["outside"] = kernel.outside;
  } else if (!kernel.no_elements.empty()) {
    out["no_element"] = kernel.no_elements;
  }
  return out;
}

json bits_json(const BitsDiff& bits) {
  json out{{"kernels", bits.kernels},
           {"cases", bits.cases},
           {"differing", json::array()},
           {"only_first", bits.gone},
           {"only_second", bits.added}};
  for (const KernelBits& kernel : bits.differing) out["differing"].push_back(kernel_json(kernel));
  return out;
}

json code_json(const CodeDiff& code) {
  static constexpr const char* kinds[] = {"changed", "only first", "only second"};
  json out{{"kernels", code.kernels}, {"compilations", code.compilations}, {"differing", json::array()},
           {"only_first", code.gone}, {"only_second", code.added},         {"failed", code.failed}};
  for (const KernelCode& one : code.differing) {
    json functions = json::array();
    for (const FunctionDifference& function : one.difference.functions) {
      json resources = json::object();
      for (const auto& resource : function.resources) resources[resource.name] = {resource.before, resource.after};
      functions.push_back({{"function", function.function},
                           {"kind", kinds[static_cast<int>(function.kind)]},
                           {"resources", resources},
                           {"code_differs", function.code},
                           {"code_bytes", {function.code_before, function.code_after}}});
    }
    out["differing"].push_back({{"kernel", one.kernel},
                                {"architecture", one.architecture},
                                {"ptx_differs", one.difference.ptx},
                                {"code_differs", one.code_differs()},
                                {"resources_differ", one.resources_differ()},
                                {"stage", bisect::stage_name(one.stage.culprit)},
                                {"functions", functions}});
  }
  return out;
}

}  // namespace

std::string text(const Result& result, std::size_t width) {
  FieldLines lines(width);
  lines.line("diff");
  lines.field("first", result.first);
  lines.field("second", result.second);
  for (const std::string& one : result.failed) lines.field("failed", one);
  if (result.code) {
    for (const std::string& one : result.code->failed) lines.field("failed", one);
    tell_presence(lines, result.code->gone, result.code->added);
    for (const KernelCode& one : result.code->differing) tell_compilation(lines, one);
  }
  if (result.bits) {
    tell_presence(lines, result.bits->gone, result.bits->added);
    for (const KernelBits& kernel : result.bits->differing) tell_kernel(lines, kernel);
  }
  lines.line("");
  if (result.code) lines.line(code_summary(*result.code));
  if (result.bits) lines.line(bits_summary(*result.bits));
  return lines.out;
}

std::string json_text(const Result& result) {
  json out{
      {"first", result.first}, {"second", result.second}, {"failed", result.failed}, {"differs", result.differs()}};
  if (result.bits) out["bits"] = bits_json(*result.bits);
  if (result.code) out["code"] = code_json(*result.code);
  return out.dump(1) + "\n";
}

}  // namespace nbx::reports::diff
