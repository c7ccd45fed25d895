#include "reports/selection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>

#include "reports/text.hpp"

namespace nbx::reports {
namespace {

namespace fs = std::filesystem;

struct BuiltPack {
  const char *name, *device, *why;
};
constexpr std::array<BuiltPack, 3> built_packs{
    {{"cpu", "cpu", "CPU: packs/cpu.so is not beside the command: no kernel of this build ran on the CPU"},
     {"controls", "cpu", "controls: packs/controls.so is not beside the command: no planted fault was judged"},
     {"cuda", "cuda", "CUDA: the pack was not built (no nvcc, or NBX_CUDA=OFF): no kernel ran on a GPU"}}};

fs::path built_pack(const fs::path& folder, const BuiltPack& pack) { return folder / (std::string(pack.name) + ".so"); }

// Checked here, as the library would take "-1" for the largest number.
std::string seed_text(const std::string& text) {
  std::uint64_t seed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole ? "" : "not a whole number from 0 to 18446744073709551615: " + text;
}

std::string limit_text(const std::string& text) {
  try {
    std::size_t used = 0;
    const double seconds = std::stod(text, &used);
    if (used == text.size() && seconds >= 0.001 && seconds <= 86'400) return "";
  } catch (const std::logic_error&) {
    return "not a number of seconds: " + text;
  }
  return "not between 0.001 and 86400 seconds: " + text;
}

}  // namespace

void add_scope(CLI::App& app, Selection& selection) {
  app.add_option("--pack", selection.named_packs, "A pack of kernels besides those of the build; may be repeated")
      ->type_name("FILE")
      ->allow_extra_args(false);
  app.add_option("--packs", selection.packs_folder, "A folder of packs in place of the build's own")
      ->type_name("FOLDER")
      ->check(CLI::ExistingDirectory);
  app.add_option("--device", selection.device, "Kernels of one device alone, cpu or cuda")
      ->type_name("DEVICE")
      ->check(CLI::IsMember({"cpu", "cuda"}));
  app.add_flag("--quick", selection.quick, "One problem of each kind");
  app.add_flag("--full", selection.full, "Every problem, order and configuration");
  app.add_option("--seed", selection.seed, "Determines every input bit (1)")->type_name("N")->check(seed_text);
  app.add_option("--jobs", selection.jobs, "Threads, each with its child processes (one per core)")
      ->type_name("N")
      ->check(CLI::Range(1, 1024));
  app.add_option("--timeout", selection.timeout_seconds, "Seconds after which one call of a kernel counts as hung (20)")
      ->type_name("S")
      ->check(limit_text);
}

void add_selection(CLI::App& app, Selection& selection) {
  app.add_option("PATTERN", selection.patterns, "Names of kernels, clauses or cases, with * and ?; none: all")
      ->type_name("");
  app.add_option("--gate", selection.gate, "One gate alone, 1 to 5; 5 compiles the CUDA kernels")
      ->type_name("N")
      ->check(CLI::Range(1, 5));
  add_scope(app, selection);
}

contracts::RunOptions run_options(const Selection& selection, const Session& session) {
  if (selection.quick && selection.full) throw UsageError("--quick and --full exclude each other");
  contracts::RunOptions options;
  const fs::path folder = selection.packs_folder.empty() ? session.folder / "packs" : fs::path(selection.packs_folder);
  for (const BuiltPack& pack : built_packs) {
    if (fs::exists(built_pack(folder, pack))) options.packs.push_back(built_pack(folder, pack));
  }
  options.named_packs.assign(selection.named_packs.begin(), selection.named_packs.end());
  options.patterns = selection.patterns;
  options.gate = selection.gate;
  options.device = selection.device;
  options.tier = selection.quick  ? contracts::Tier::quick
                 : selection.full ? contracts::Tier::full
                                  : contracts::Tier::standard;
  options.seed = selection.seed;
  options.jobs = selection.jobs;
  options.timeout = std::chrono::milliseconds(std::llround(selection.timeout_seconds * 1000));
  options.command = session.typed;
  options.records = session.folder / "records";
  return options;
}

std::vector<std::string> missing_packs(const contracts::RunOptions& options) {
  std::vector<std::string> notes;
  for (const BuiltPack& pack : built_packs) {
    const bool wanted = options.device.empty() || options.device == pack.device;
    const bool there = std::any_of(options.packs.begin(), options.packs.end(),
                                   [&](const fs::path& file) { return file.stem() == pack.name; });
    if (wanted && !there) notes.emplace_back(pack.why);
  }
  return notes;
}

void suggest(const contracts::RunOptions& options, const std::vector<std::string>& patterns) {
  for (const std::string& pattern : patterns) {
    const std::vector<std::string> names = contracts::nearest(options, pattern);
    fmt::print(stderr, "nbx-contract: no match for {}{}\n", shell_word(pattern),
               names.empty() ? "" : "; nearest: " + joined(names, ", "));
  }
}

std::string tier_name(contracts::Tier tier) {
  return tier == contracts::Tier::quick ? "quick" : tier == contracts::Tier::full ? "full" : "default";
}

}  // namespace nbx::reports
