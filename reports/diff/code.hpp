// Two codegen records held against each other.
#pragma once

#include <string>
#include <vector>

#include "contracts/codegen/difference.hpp"
#include "reports/bisect/stage.hpp"

namespace nbx::reports::diff {

struct KernelCode {
  std::string kernel, architecture;
  contracts::codegen::CodeDifference difference;
  bisect::StageBlame stage;  // asked where two toolchains are compared
  bool code_differs() const { return difference.code_differs(); }
  bool resources_differ() const;
};

struct CodeDiff {
  std::size_t kernels = 0, compilations = 0;  // compared; a compilation is a kernel for an architecture
  std::vector<KernelCode> differing;
  std::vector<std::string> gone, added;  // "kernel for sm_90" of the first record alone, of the second alone
  std::vector<std::string> failed;       // what did not compile, and what the compiler said
  bool differs() const { return !differing.empty() || !gone.empty() || !added.empty() || !failed.empty(); }
};

/// Kernels that the patterns select (none: all), on the architectures given (none: all). Two kernels differ where
/// machine code, a resource or the set of functions does; other PTX alone is no difference, as every version of nvcc
/// writes its own number there.
CodeDiff compare_code(const contracts::codegen::Record& first, const contracts::codegen::Record& second,
                      const std::vector<std::string>& patterns, const std::vector<std::string>& architectures);

}  // namespace nbx::reports::diff
