// The subcommands. Each stands in a file of its own and is named here, once in each of the two lists.
#pragma once

#include <CLI/CLI.hpp>

#include "reports/session.hpp"

namespace nbx::reports {

/// Adds a subcommand to the application. Its callback sets session.action, and leaves the work to it.
using AddCommand = void(CLI::App& app, Session& session);

AddCommand add_list, add_run, add_explain, add_merge, add_record, add_probe, add_toolchains, add_diff, add_bisect,
    add_splash_report;

// In the order of --help.
inline constexpr AddCommand* all_commands[] = {add_list,  add_run,        add_explain, add_merge,  add_record,
                                               add_probe, add_toolchains, add_diff,    add_bisect, add_splash_report};

}  // namespace nbx::reports
