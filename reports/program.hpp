// Other programs: compilers, linkers, what reads object files.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace nbx::reports {

struct Finished {
  int code = -1;       // 128 + the signal where it died by one; 127 where it could not be started
  std::string output;  // standard output, with `both` standard error too
  bool good() const { return code == 0; }
};

struct ProgramOptions {
  std::filesystem::path folder{};  // where it runs; empty: here
  bool both = true;
};

/// Runs a program to its end, without a shell. A word without '/' is looked up along PATH. Standard input is empty.
Finished run_program(const std::vector<std::string>& words, const ProgramOptions& options = {});

/// The file that `word` names, along PATH where it has no '/'; empty where there is none to run.
std::filesystem::path find_program(const std::string& word);

}  // namespace nbx::reports
