// One invocation of the command: how it was called, and what it is to do once its words are understood.
#pragma once

#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace nbx::reports {

struct Session {
  std::vector<std::string> typed;  // all words, the command's own name first
  std::filesystem::path folder;    // of the executable: packs/ and last-run.json stand there
  bool bisect = false;             // --bisect-exit
  std::function<int()> action;     // of the subcommand; returns the exit code
};

/// Words that cannot be understood together: exit code 2.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace nbx::reports
