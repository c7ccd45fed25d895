#include "reports/summary.hpp"

#include <fmt/format.h>

#include "reports/exit_code.hpp"
#include "reports/kernel_table.hpp"
#include "reports/sections.hpp"
#include "reports/text.hpp"

namespace nbx::reports {
namespace {

using contracts::KernelResult;
using contracts::PackResult;
using contracts::RunResult;
using contracts::State;

std::string toolchain_text(const PackResult& pack) {
  std::string text = pack.toolchain;
  if (!pack.flags.empty()) text += " " + pack.flags;
  if (!pack.imitates.empty()) text += ", imitates " + pack.imitates;
  if (!pack.device.empty()) text += ", on " + pack.device;
  return text;
}

// Version, packs and seed, then one line for each way in which packs were built.
std::string header(const Report& report) {
  const RunResult& result = report.result;
  std::vector<std::string> names;
  std::vector<std::pair<std::string, std::string>> built;  // toolchain, names
  for (const PackResult& pack : result.packs) {
    if (!pack.error.empty()) continue;
    names.push_back(pack.name);
    const std::string text = toolchain_text(pack);
    auto same = built.begin();
    while (same != built.end() && same->first != text) ++same;
    if (same == built.end()) {
      built.emplace_back(text, pack.name);
    } else {
      same->second += ", " + pack.name;
    }
  }
  std::string out = fmt::format("nbx-contract {}   packs {}   seed {}   {} tier", version(),
                                names.empty() ? "none" : joined(names, ", "), result.seed, result.tier);
  if (report.shards > 1) out += fmt::format("   shard {} of {}", report.shard, report.shards);
  out += "\n";
  std::vector<std::pair<std::string, std::string>> lines;
  for (const auto& [toolchain, packs] : built) lines.emplace_back(packs, toolchain);
  return out + labelled(lines);
}

std::vector<const KernelResult*> shown_kernels(const RunResult& result, bool all) {
  std::vector<const KernelResult*> kernels;
  for (const KernelResult& kernel : result.kernels) {
    if (all || verdict_word(kernel) != "ok") kernels.push_back(&kernel);
  }
  return kernels;
}

}  // namespace

std::string summary_line(const RunResult& result, const Tally& tally) {
  if (!result.codegen.empty()) {  // gate 5 alone was asked
    const std::int64_t hold = result.codegen_cases - tally.red_cases - tally.pending_cases - tally.stale_cases;
    return fmt::format("SUMMARY gate 5: {}: {} cases: {} hold, {} red, {} pending, {} stale", result.codegen,
                       result.codegen_cases, hold, tally.red_cases, tally.pending_cases, tally.stale_cases);
  }
  return fmt::format(
      "SUMMARY {} kernels: {} pass gates 1-4, {} fail, {} known findings; {} controls: {} red as planted, {} missed",
      tally.kernels, tally.pass, tally.fail, tally.known_findings, tally.controls, tally.red_as_planted, tally.missed);
}

std::string summary(const Report& report, const SummaryOptions& options) {
  const RunResult& result = report.result;
  const Tally tally = reports::tally(result);
  std::string out;
  if (options.all) out += header(report) + "\n";
  const std::vector<const KernelResult*> kernels = shown_kernels(result, options.all);
  if (!kernels.empty()) out += kernel_table(kernels, result, options.width, options.paint) + "\n";
  out += failures(result, options.paint);
  out += unjudged(report, tally, options.paint);
  if (options.all) out += quality(result, tally);
  out += notes(result, tally, options.paint);
  const std::string last = summary_line(result, tally);
  const bool red = exit_code(result, report.strict) != exit_ok;
  return out + (red ? options.paint.bad(last) : options.paint.good(last)) + "\n";
}

}  // namespace nbx::reports
