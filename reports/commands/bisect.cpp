// nbx-contract bisect: which units, flags and functions of a pack change when the toolchain does.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "contracts/child/executor.hpp"
#include "contracts/pattern.hpp"
#include "reports/bisect/tell.hpp"
#include "reports/commands/commands.hpp"
#include "reports/exit_code.hpp"
#include "reports/interrupt.hpp"
#include "reports/selection.hpp"
#include "reports/terminal.hpp"
#include "reports/write_file.hpp"

namespace nbx::reports {
namespace {

namespace fs = std::filesystem;

struct Words {
  Selection selection;
  std::string good, bad, until = "bits", units, folder, json;
  std::size_t most = 10'000;
};

/// A pack's own words on how it is built.
struct Described {
  fs::path units;
  std::vector<contracts::KernelInfo> kernels;
};

/// The pack to bisect, --pack or the build's own for the device; with --units it need not be there.
Described described(const Words& words, const contracts::RunOptions& options) {
  std::vector<fs::path> packs = options.named_packs;
  const std::string own = options.device == "cuda" ? "cuda" : "cpu";
  for (const fs::path& pack : options.packs) {
    if (options.named_packs.empty() && words.units.empty() && pack.stem() == own) packs.push_back(pack);
  }
  if (packs.empty() && !words.units.empty()) return {words.units, {}};
  if (packs.size() != 1) {
    throw UsageError(fmt::format("{} packs to bisect; accepted: one, by --pack or beside the command", packs.size()));
  }
  contracts::Executor executor(packs.front(), {.timeout = options.timeout});
  contracts::PackError error;
  auto info = executor.open(&error);
  if (!info) throw std::runtime_error(fmt::format("{}: {}", packs.front().string(), error.reason));
  Described out{words.units, std::move(info->kernels)};
  if (!out.units.empty()) return out;
  if (info->compile_commands.empty()) {
    throw UsageError(
        fmt::format("{}: the pack does not say how it is built; --units FILE does", packs.front().string()));
  }
  const fs::path named = info->compile_commands;
  out.units = named.is_absolute() ? named : packs.front().parent_path() / named;
  return out;
}

/// Units of kernels that the patterns leave out. Kernels do not call each other's units.
std::set<std::string> left_out(const bisect::PackUnits& pack, const std::vector<contracts::KernelInfo>& kernels,
                               const std::vector<std::string>& patterns) {
  std::set<std::string> out, kept;
  for (const bisect::Unit& unit : pack.units) {
    for (const contracts::KernelInfo& kernel : kernels) {
      if (kernel.unit.empty() || !("/" + unit.file.string()).ends_with("/" + kernel.unit)) continue;
      // A pattern of whole cases may select any kernel that its part before '/' does.
      const bool selected =
          patterns.empty() || std::any_of(patterns.begin(), patterns.end(), [&](const std::string& p) {
            return contracts::selects(p.substr(0, p.find_first_of("/(")), kernel.name) || p.starts_with("gate");
          });
      (selected ? kept : out).insert(unit.name);
    }
  }
  for (const std::string& name : kept) out.erase(name);
  return out;
}

int run_bisect(const Words& words, const Session& session) {
  bisect::Settings settings;
  settings.run = run_options(words.selection, session);
  settings.good = find_toolchain(words.good, session.folder / "toolchains");
  settings.bad = find_toolchain(words.bad, session.folder / "toolchains");
  settings.until = words.until == "bits" ? bisect::Until::bits : bisect::Until::gate;
  settings.folder = words.folder.empty() ? session.folder / "bisect" : fs::path(words.folder);
  settings.most = words.most;
  const Described pack = described(words, settings.run);
  settings.pack = bisect::read_units(pack.units);
  settings.good_anyway = left_out(settings.pack, pack.kernels, settings.run.patterns);
  stop_on_signals(exit_interrupted);
  bisect::Result result;
  try {
    ProgressLine progress;
    settings.say = [&](const std::string& what) { progress.show(what); };
    result = bisect::bisect(settings);
  } catch (const bisect::Stopped&) {
    fmt::print(stderr, "nbx-contract: stopped; what was built and judged is kept in {}\n", settings.folder.string());
    return exit_interrupted;
  }
  fmt::print("{}", bisect::text(result, settings, std::max<std::size_t>(terminal_width(STDOUT_FILENO), 80)));
  if (!words.json.empty()) {
    const std::string why_not = write_file(words.json, bisect::json_text(result, settings));
    if (!why_not.empty()) {
      fmt::print(stderr, "nbx-contract: {}: {}\n", words.json, why_not);
      return exit_harness;
    }
  }
  if (!result.blames.empty() || !result.unstable.empty()) return exit_red;
  return result.nothing_differs() ? exit_ok : exit_harness;
}

}  // namespace

void add_bisect(CLI::App& app, Session& session) {
  auto* bisect = app.add_subcommand("bisect", "Find the units, flags and functions that change with the toolchain");
  auto words = std::make_shared<Words>();
  bisect->add_option("--good", words->good, "The toolchain to trust")->required()->type_name("TOOLCHAIN");
  bisect->add_option("--bad", words->bad, "The toolchain in question")->required()->type_name("TOOLCHAIN");
  bisect->add_option("--until", words->until, "What counts: other bits, or a red case that was not red (bits)")
      ->type_name("bits|gate")
      ->check(CLI::IsMember({"bits", "gate"}));
  bisect->add_option("--units", words->units, "How the pack is built, if it does not say: compile_commands.json")
      ->type_name("FILE");
  bisect->add_option("--cache", words->folder, "Keeps what was built and judged (bisect/ beside the command)")
      ->type_name("FOLDER");
  bisect->add_option("--most", words->most, "Evaluations at most (10000)")->type_name("N")->check(CLI::PositiveNumber);
  bisect->add_option("--json", words->json, "Write what was found as JSON")->type_name("FILE");
  add_selection(*bisect, words->selection);
  bisect->footer(
      "A TOOLCHAIN is a JSON file, a name that `nbx-contract toolchains` lists, or a compiler such as g++-12.\n"
      "Stopped or killed, the same words go on where it was.\n"
      "Exit codes: 0 nothing changed, 1 something did, 2 usage, 3 it could not be told, 130 stopped.\n"
      "Examples:\n"
      "  nbx-contract bisect --good g++-12 --bad clang++-19 --quick\n"
      "  nbx-contract bisect --good g++-12 --bad fast-math --until gate 'softmax.*'");
  bisect->callback([words, &session] { session.action = [words, &session] { return run_bisect(*words, session); }; });
}

}  // namespace nbx::reports
