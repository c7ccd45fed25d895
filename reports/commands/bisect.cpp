// nbx-contract bisect: which units, flags and functions of a pack change when the toolchain does.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "reports/bisect/code.hpp"
#include "reports/bisect/described.hpp"
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

int run_bisect(const Words& words, const Session& session) {
  bisect::Settings settings;
  settings.run = run_options(words.selection, session);
  settings.good = find_toolchain(words.good, session.folder / "toolchains");
  settings.bad = find_toolchain(words.bad, session.folder / "toolchains");
  for (const bisect::Until until : {bisect::Until::bits, bisect::Until::gate, bisect::Until::code}) {
    if (words.until == bisect::until_name(until)) settings.until = until;
  }
  const bool code = settings.until == bisect::Until::code;
  settings.folder = words.folder.empty() ? session.folder / "bisect" : fs::path(words.folder);
  settings.most = words.most;
  const bisect::Described pack = code ? bisect::described_device_code(words.units, settings.run, session.folder)
                                      : bisect::described(words.units, settings.run);
  settings.pack = bisect::read_units(pack.units);
  settings.good_anyway = bisect::left_out(settings.pack, pack.kernels, settings.run.patterns);
  stop_on_signals(exit_interrupted);
  bisect::Result result;
  try {
    ProgressLine progress;
    settings.say = [&](const std::string& what) { progress.show(what); };
    result = code ? bisect::bisect_code(settings, pack.kernels) : bisect::bisect(settings);
  } catch (const bisect::Stopped&) {
    fmt::print(stderr, "nbx-contract: stopped; what was built and judged is kept in {}\n", settings.folder.string());
    return exit_interrupted;
  }
  fmt::print("{}", bisect::text(result, settings, std::max<std::size_t>(terminal_width(STDOUT_FILENO), 80)));
  if (!wrote_report(words.json, bisect::json_text(result, settings))) return exit_harness;
  if (!result.blames.empty() || !result.unstable.empty()) return exit_red;
  return result.nothing_differs() ? exit_ok : exit_harness;
}

}  // namespace

void add_bisect(CLI::App& app, Session& session) {
  auto* bisect = app.add_subcommand("bisect", "Find the units, flags and functions that change with the toolchain");
  auto words = std::make_shared<Words>();
  bisect->add_option("--good", words->good, "The toolchain to trust")->required()->type_name("TOOLCHAIN");
  bisect->add_option("--bad", words->bad, "The toolchain in question")->required()->type_name("TOOLCHAIN");
  bisect
      ->add_option(
          "--until", words->until,
          "What counts: other bits, a red case that was not red, or, with no device, a CUDA unit's code (bits)")
      ->type_name("bits|gate|code")
      ->check(CLI::IsMember({"bits", "gate", "code"}));
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
      "  nbx-contract bisect --good g++-12 --bad fast-math --until gate 'softmax.*'\n"
      "  nbx-contract bisect --good nvcc-13.0.json --bad nvcc-13.5.json --until code decode.published.bf16");
  bisect->callback([words, &session] { session.action = [words, &session] { return run_bisect(*words, session); }; });
}

}  // namespace nbx::reports
