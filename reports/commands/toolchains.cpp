// nbx-contract toolchains: the compilers of this machine, and the toolchains that come with the project; with --bits
// whether the kernels give the same bits from each of them (gate3.compilers).
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "reports/commands/commands.hpp"
#include "reports/diff/across.hpp"
#include "reports/exit_code.hpp"
#include "reports/interrupt.hpp"
#include "reports/program.hpp"
#include "reports/selection.hpp"
#include "reports/terminal.hpp"
#include "reports/text.hpp"
#include "reports/toolchains/discover.hpp"
#include "reports/write_file.hpp"

namespace nbx::reports {
namespace {

namespace fs = std::filesystem;

std::string program_of(const Toolchain& toolchain) {
  return !toolchain.cxx.empty() ? toolchain.cxx : !toolchain.nvcc.empty() ? toolchain.nvcc : toolchain.ptxas;
}

std::string flags_of(const Toolchain& toolchain) {
  std::vector<std::string> all = toolchain.cxx_flags;
  for (const auto* more : {&toolchain.nvcc_flags, &toolchain.ptxas_flags})
    all.insert(all.end(), more->begin(), more->end());
  return joined(all, " ");
}

/// "g++ 12.2.0" is "g++-12.2.0.json".
std::string file_name(const Toolchain& toolchain) {
  std::string name = toolchain.name;
  for (char& c : name) {
    if (c == ' ' || c == '/') c = '-';
  }
  return name + ".json";
}

int list_toolchains(const std::string& write, const Session& session) {
  const std::vector<Toolchain> found = discover_toolchains();
  fmt::print("on this machine\n");
  for (const Toolchain& one : found) fmt::print("  {} {}\n", left(one.name, 16), program_of(one));
  if (found.empty()) fmt::print("  none\n");
  fmt::print("\nwith the project (--good NAME, --bad NAME)\n");
  for (const Toolchain& one : toolchains_in(session.folder / "toolchains")) {
    const std::string program = program_of(one);
    const bool here = program.empty() || !find_program(program).empty();
    fmt::print("  {} {} {}{}\n", left(one.name, 16), program.empty() ? "each command's own" : program, flags_of(one),
               here ? "" : "   not on this machine");
  }
  if (write.empty()) return found.empty() ? exit_nothing : exit_ok;
  std::error_code error;
  fs::create_directories(write, error);
  for (const Toolchain& one : found) {
    const fs::path file = fs::path(write) / file_name(one);
    const std::string why_not = write_file(file, to_json(one));
    if (!why_not.empty()) {
      fmt::print(stderr, "nbx-contract: {}: {}\n", file.string(), why_not);
      return exit_harness;
    }
  }
  fmt::print("\nwrote {} in {}\n", counted(static_cast<std::int64_t>(found.size()), "file"), write);
  return exit_ok;
}

struct Words {
  Selection selection;
  std::string write, units, folder, json;
  bool bits = false;
  std::vector<std::string> with;
  std::vector<std::string> flags{"-O0 -march=x86-64", "-O2", "-O3 -march=x86-64", "-O3 -march=x86-64-v4"};
};

int hold_bits(const Words& words, const Session& session) {
  ProgressLine progress;
  bisect::Settings settings;
  settings.run = run_options(words.selection, session);
  // Whatever is compiled other shows in a few problems of each kernel; all of them without optimisation take hours.
  if (settings.run.tier == contracts::Tier::standard) settings.run.tier = contracts::Tier::quick;
  settings.folder = words.folder.empty() ? session.folder / "bisect" : fs::path(words.folder);
  settings.say = [&](const std::string& what) { progress.show(what); };
  const bisect::Described pack = bisect::described(words.units, settings.run);
  if (pack.file.empty()) throw UsageError("--units alone names no pack to hold others against; accepted: --pack too");
  settings.pack = bisect::read_units(pack.units);
  settings.good_anyway = bisect::left_out(settings.pack, pack.kernels, settings.run.patterns);
  std::vector<Toolchain> compilers;
  for (const std::string& word : words.with) compilers.push_back(find_toolchain(word, session.folder / "toolchains"));
  if (words.with.empty()) {
    for (Toolchain& one : discover_toolchains()) {
      if (!one.cxx.empty()) compilers.push_back(std::move(one));
    }
  }
  std::vector<std::string> notes;
  const std::vector<Toolchain> builds = diff::compilers_and_flags(compilers, words.flags, notes);
  for (const std::string& note : notes) fmt::print("note: {}\n", note);
  stop_on_signals(exit_interrupted);
  std::vector<diff::Across> found;
  try {
    found = diff::across(settings, pack.file, builds);
  } catch (const bisect::Stopped&) {
    return exit_interrupted;
  }
  fmt::print("{}", diff::across_text(found, std::max<std::size_t>(terminal_width(STDOUT_FILENO), 80)));
  if (!wrote_report(words.json, diff::across_json(found))) return exit_harness;
  if (found.empty()) return exit_nothing;
  return std::all_of(found.begin(), found.end(), [](const diff::Across& one) { return one.same(); }) ? exit_ok
                                                                                                     : exit_red;
}

}  // namespace

void add_toolchains(CLI::App& app, Session& session) {
  auto* toolchains = app.add_subcommand(
      "toolchains", "List the compilers of this machine; --bits: hold the kernels' bits across them");
  auto words = std::make_shared<Words>();
  toolchains->add_option("--write", words->write, "Write each as a JSON file there")->type_name("FOLDER");
  toolchains->add_flag("--bits", words->bits, "Build the pack by each and hold its bits against the pack as it is");
  toolchains->add_option("--with", words->with, "With --bits: this compiler or toolchain alone; may be repeated")
      ->type_name("TOOLCHAIN")
      ->allow_extra_args(false);
  toolchains
      ->add_option("--flags", words->flags, "With --bits: one set of flags, \"-O3 -march=x86-64-v4\"; may be repeated")
      ->type_name("FLAGS")
      ->allow_extra_args(false);
  toolchains->add_option("--units", words->units, "With --bits: how the pack is built, if it does not say")
      ->type_name("FILE");
  toolchains->add_option("--cache", words->folder, "With --bits: keeps what was built (bisect/ beside the command)")
      ->type_name("FOLDER");
  toolchains->add_option("--json", words->json, "With --bits: write what was found as JSON")->type_name("FILE");
  add_selection(*toolchains, words->selection);
  toolchains->footer(
      "With --bits each compiler builds the pack with each set of flags: without optimisation, optimised, and with\n"
      "AVX-512 where the machine has it; the quick problems of each kernel are compared, with --full all. Exit codes: "
      "0 the same bits from all, 1 other bits or a build that failed,\n"
      "2 usage, 3 it could not be told, 4 no compiler.\n"
      "Examples:\n"
      "  nbx-contract toolchains --bits 'softmax.*'\n"
      "  nbx-contract toolchains --bits --with g++-12 --with clang++-19 --flags=-O2");
  toolchains->callback([words, &session] {
    if (!words->bits &&
        (!words->with.empty() || !words->units.empty() || !words->json.empty() || !words->selection.patterns.empty())) {
      throw UsageError("patterns, --with, --units and --json are for --bits");
    }
    session.action = [words, &session] {
      return words->bits ? hold_bits(*words, session) : list_toolchains(words->write, session);
    };
  });
}

}  // namespace nbx::reports
