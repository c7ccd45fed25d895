// One case in two packs that hold the same kernels, or as two records kept it: where their bits part, and whether
// either leaves its bound.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "contracts/stored_outputs.hpp"

namespace nbx::contracts {

/// One element as a pack gave it.
struct ElementValue {
  std::string number, bits;  // "0x1.91eb86p-3   0.19625"; "0x3E3D70A4 = 0 | 01111100 | ..."
  double share = 0;          // |error| / bound of the declared arithmetic; inf for a wrong class of value
  std::int64_t wrong = 0;    // how many elements of the output leave their bounds
};

struct PackDifference {
  /// Why elements were not compared: a crash, a refusal, no such kernel. Empty where they were.
  std::string why_not;
  std::string output;  // in which they differ first; empty: nowhere
  std::int64_t differing = 0, elements = 0;
  std::string index, where;  // "[0,1,128,0]"; "head 1, rows 128-129"
  ElementValue good, bad;    // at the first differing element
  double ulps = 0;           // steps of the output's format between the two; NaN where one is NaN
  double most_ulps = 0;      // the largest over the output, NaN apart
  double bound = 0;          // at that element, of the good pack's arithmetic
  std::string no_bound;      // why there is no bound to hold either against; shares and `wrong` then say nothing
  bool differs() const { return !why_not.empty() || !output.empty(); }
  bool within_bound() const { return why_not.empty() && no_bound.empty() && bad.wrong == 0; }
};

/// Runs the plain call of `kernel` on `problem` in both packs and compares all outputs.
PackDifference compare_packs(const std::filesystem::path& good, const std::filesystem::path& bad,
                             const std::string& kernel, const std::string& problem, std::uint64_t seed,
                             std::chrono::milliseconds timeout);

/// All outputs of a case as a record kept them, by name.
using KeptOutputs = std::map<std::string, StoredOutput>;

/// Compares what two records kept of a case. The arithmetic that `pack`, a pack of this machine with that kernel,
/// declares gives the bound of both; with an empty `pack` there is none.
PackDifference compare_kept(const KeptOutputs& good, const KeptOutputs& bad, const std::filesystem::path& pack,
                            const std::string& kernel, const std::string& problem, std::uint64_t seed,
                            std::chrono::milliseconds timeout);

}  // namespace nbx::contracts
