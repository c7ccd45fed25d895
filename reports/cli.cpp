#include "reports/cli.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <iostream>

#include "reports/commands/commands.hpp"
#include "reports/exit_code.hpp"
#include "reports/report.hpp"

namespace nbx::reports {
namespace {

constexpr const char* examples = R"(Examples:
  nbx-contract run --summary                    everything that the pre-merge gate asks
  nbx-contract run --quick flash.simt.f32       one kernel, one problem of each kind
  nbx-contract run 'flash.*' --gate 3           bit-equality alone, of one family
  nbx-contract run --pack ./mine.so             your own kernels too
  nbx-contract run --last-failed                what was red the last time
  nbx-contract explain 'flash.simt.f32/gate1.reference(B=1,H=4,...)'
  nbx-contract list controls

Exit codes: 0 all held, 1 red, 2 usage, 3 the harness failed, 4 nothing was checked, 130 interrupted.)";

int parse_and_run(int argc, char** argv, Session& session) {
  CLI::App app("Holds attention kernels to their numerical contracts.", "nbx-contract");
  app.set_version_flag("--version", std::string("nbx-contract ") + version());
  app.footer(examples);
  app.require_subcommand(1);
  app.option_defaults()->always_capture_default(false);
  for (AddCommand* add : all_commands) add(app, session);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? exit_ok : exit_usage;
  }
  return session.action();
}

}  // namespace

int run_command(int argc, char** argv) {
  Session session;
  int code = exit_harness;
  try {
    session.typed.assign(argv, argv + argc);
    session.typed.front() = "nbx-contract";
    // Known before the words are understood, as words that are not understood must not abort a bisect either.
    session.bisect = std::find(session.typed.begin(), session.typed.end(), "--bisect-exit") != session.typed.end();
    session.folder = std::filesystem::canonical("/proc/self/exe").parent_path();
    code = parse_and_run(argc, argv, session);
  } catch (const UsageError& error) {
    fmt::print(stderr, "nbx-contract: {}\n", error.what());
    code = exit_usage;
  } catch (const std::exception& error) {
    fmt::print(stderr, "nbx-contract: {}\n", error.what());
  }
  return session.bisect ? bisect_code(code) : code;
}

}  // namespace nbx::reports
