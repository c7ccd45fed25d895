#include "reports/diff/across.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "contracts/codegen/process.hpp"
#include "reports/diff/build_pack.hpp"
#include "reports/element.hpp"

namespace nbx::reports::diff {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::size_t most_kernels = 5;

Across compared(const bisect::Settings& settings, bisect::Workshop& workshop, const fs::path& reference,
                const contracts::Record& expected, const Toolchain& toolchain) {
  Across out;
  out.toolchain = toolchain;
  std::vector<std::string> failed;
  const bisect::Made pack = build_pack(settings, workshop, toolchain, failed);
  if (!pack.good() || !failed.empty()) {
    out.why_not = failed.empty() ? pack.why_not : failed.front();
    return out;
  }
  const contracts::Record given = recorded(pack.file, settings, toolchain, failed);
  if (!failed.empty()) {
    out.why_not = failed.front();
    return out;
  }
  out.bits = compare_bits(expected, given, {});
  for (KernelBits& kernel : out.bits.differing) {
    judge_changes(kernel, [&](const std::string& problem) {
      return contracts::compare_packs(reference, pack.file, kernel.kernel, problem, settings.run.seed,
                                      settings.run.timeout);
    });
  }
  return out;
}

std::string said(const Toolchain& toolchain) {
  return toolchain.name + (toolchain.cxx_flags.empty() ? "" : " " + joined(toolchain.cxx_flags, " "));
}

}  // namespace

std::vector<Across> across(const bisect::Settings& settings, const fs::path& reference,
                           const std::vector<Toolchain>& toolchains) {
  std::vector<std::string> failed;
  const contracts::Record expected = recorded(reference, settings, {}, failed);
  if (!failed.empty()) throw std::runtime_error("the pack as it was built: " + failed.front());
  bisect::Workshop workshop(settings.folder, settings.say);
  std::vector<Across> out;
  for (const Toolchain& toolchain : toolchains) {
    out.push_back(compared(settings, workshop, reference, expected, toolchain));
  }
  return out;
}

std::vector<Toolchain> compilers_and_flags(const std::vector<Toolchain>& compilers,
                                           const std::vector<std::string>& flags, std::vector<std::string>& notes) {
  std::vector<Toolchain> out;
  const bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                    __builtin_cpu_supports("avx512vl");
  for (const std::string& set : flags) {
    const bool asks_wide = set.find("x86-64-v4") != std::string::npos || set.find("avx512") != std::string::npos;
    if (asks_wide && !wide) {
      notes.push_back(fmt::format("{}: this machine has no AVX-512, so it was not compared", set));
      continue;
    }
    for (const Toolchain& compiler : compilers) {
      Toolchain one = compiler;
      for (const std::string& word : contracts::codegen::shell_words(set)) one.cxx_flags.push_back(word);
      out.push_back(std::move(one));
    }
  }
  return out;
}

std::string across_text(const std::vector<Across>& all, std::size_t width) {
  FieldLines lines(width);
  std::size_t same = 0;
  for (const Across& one : all) {
    same += one.same();
    const std::string counts = fmt::format("{}, {}", counted(static_cast<std::int64_t>(one.bits.kernels), "kernel"),
                                           counted(static_cast<std::int64_t>(one.bits.cases), "case"));
    lines.line(fmt::format("  {} {}   {}", one.same() ? "same bits " : "OTHER BITS", said(one.toolchain),
                           one.why_not.empty() ? counts : "nothing was compared"));
    if (!one.why_not.empty()) lines.field("", one.why_not.substr(0, one.why_not.find('\n')));
    for (std::size_t i = 0; i < std::min(one.bits.differing.size(), most_kernels); ++i) {
      const KernelBits& kernel = one.bits.differing[i];
      lines.field("kernel",
                  fmt::format("{}: {} of {} cases changed", kernel.kernel, kernel.changed_cases, kernel.cases));
      if (kernel.changed.empty()) continue;
      lines.field("case", fmt::format("{}({})", kernel.kernel, kernel.element_case));
      if (kernel.elements) tell_element(lines, *kernel.elements, "as built", "so");
    }
    if (one.bits.differing.size() > most_kernels) {
      lines.field("", fmt::format("{} more kernels", one.bits.differing.size() - most_kernels));
    }
  }
  lines.line("");
  lines.line(fmt::format("ACROSS gate3.compilers: {} of {} give the bits of the pack as it was built", same,
                         counted(static_cast<std::int64_t>(all.size()), "build")));
  return lines.out;
}

std::string across_json(const std::vector<Across>& all) {
  json out = json::array();
  for (const Across& one : all) {
    json differing = json::array();
    for (const KernelBits& kernel : one.bits.differing) {
      json entry{{"kernel", kernel.kernel}, {"cases", kernel.cases}, {"changed_cases", kernel.changed_cases}};
      if (kernel.elements) {
        entry["element"] = element_json(*kernel.elements, kernel.element_case, "as_built", "so");
      }
      differing.push_back(std::move(entry));
    }
    out.push_back({{"toolchain", json::parse(to_json(one.toolchain))},
                   {"same", one.same()},
                   {"kernels", one.bits.kernels},
                   {"cases", one.bits.cases},
                   {"why_not", one.why_not},
                   {"differing", differing}});
  }
  return json{{"clause", "gate3.compilers"}, {"builds", out}}.dump(1) + "\n";
}

}  // namespace nbx::reports::diff
