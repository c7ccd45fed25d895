// Running a tool to its end.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace nbx::contracts::codegen {

struct Ended {
  int code = -1;       // the exit code; 128 + N for signal N
  std::string output;  // what it wrote, stdout and stderr together
};

/// Runs words[0], looked for in PATH, in `folder` (empty: here), and waits. Throws std::runtime_error where it cannot
/// be started.
Ended run_tool(const std::vector<std::string>& words, const std::filesystem::path& folder = {});

/// The words of a command as a POSIX shell splits them: spaces, quotes and backslashes; nothing is expanded.
std::vector<std::string> shell_words(const std::string& command);

/// The prerequisites of a make rule, as compilers write it (-M, -MD).
std::vector<std::string> prerequisites(const std::string& rule);

}  // namespace nbx::contracts::codegen
