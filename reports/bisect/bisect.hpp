// The bisect: from two toolchains to the units, flags and functions that change what kernels give.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "contracts/codegen/difference.hpp"
#include "contracts/two_packs.hpp"
#include "reports/bisect/bench.hpp"
#include "reports/bisect/flags.hpp"
#include "reports/bisect/stage.hpp"

namespace nbx::reports::bisect {

/// What one unit's objects look like from both sides.
struct UnitEvidence {
  std::string unit;
  std::string good_code, bad_code;                  // hashes of machine code and data
  std::vector<std::vector<std::string>> functions;  // minimal sets, demangled; empty: not told apart by symbol
  std::string functions_note;                       // why there are none
  std::string instructions;                         // the difference, in words: "41 to 38: 3 fewer divss, ..."
  /// Of a CUDA unit, for the architecture that its command names:
  std::string architecture, good_ptx, bad_ptx;               // hashes without comments, paths and names of paths
  std::optional<contracts::codegen::CodeDifference> device;  // functions with other machine code or resources
};

/// One minimal set of units, and all that is known of it.
struct Blame {
  std::vector<std::string> units;
  std::vector<ChangedCase> changed;                     // the cases that it changes by itself
  std::optional<contracts::PackDifference> difference;  // in the first of them; nothing where it is not asked
  std::string difference_case;
  StageBlame stage;  // of CUDA units
  FlagBlame flags;
  std::vector<UnitEvidence> evidence;
};

struct Untestable {
  std::string unit, toolchain, why;  // whose compiler said why
};

struct Result {
  std::size_t units = 0, suspects = 0;  // suspects: both toolchains compile them, to other code
  std::vector<Untestable> untestable;   // units that one toolchain does not compile
  std::vector<std::string> unstable;    // kernels that do not repeat themselves
  Found found;                          // over suspects, by number in `suspect_names`
  std::vector<std::string> suspect_names;
  std::vector<std::string> untested;  // why sets could not be tested
  std::vector<Blame> blames;
  std::size_t judged = 0, recalled = 0, built = 0, remembered = 0;
  bool nothing_differs() const { return found.minimal.empty() && found.complete && untestable.empty(); }
};

/// Throws std::runtime_error where the good side cannot be judged, and Stopped.
Result bisect(const Settings& settings);

}  // namespace nbx::reports::bisect
