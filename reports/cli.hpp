// The command line as a whole.
#pragma once

namespace nbx::reports {

/// Understands the words, runs the subcommand, returns the exit code (exit_code.hpp). Throws nothing.
int run_command(int argc, char** argv);

}  // namespace nbx::reports
