// nbx-contract toolchains: the compilers of this machine, and the toolchains that come with the project.
#include <fmt/format.h>

#include <memory>

#include "reports/commands/commands.hpp"
#include "reports/exit_code.hpp"
#include "reports/program.hpp"
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

}  // namespace

void add_toolchains(CLI::App& app, Session& session) {
  auto* toolchains = app.add_subcommand("toolchains", "List the compilers of this machine, for diff and bisect");
  auto write = std::make_shared<std::string>();
  toolchains->add_option("--write", *write, "Write each as a JSON file there")->type_name("FOLDER");
  toolchains->callback(
      [write, &session] { session.action = [write, &session] { return list_toolchains(*write, session); }; });
}

}  // namespace nbx::reports
