// Which flag of a toolchain brings a change, or whether it is the compiler itself.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "reports/bisect/search.hpp"
#include "reports/toolchains/toolchain.hpp"

namespace nbx::reports::bisect {

/// A flag with the words that belong to it: "-O3", "--param max-unroll=2".
using Flag = std::vector<std::string>;
std::vector<Flag> grouped_flags(const std::vector<std::string>& words);

/// The flags that an umbrella stands for ("-ffast-math", "-Ofast", "--use_fast_math"); none where it is none.
std::vector<std::string> parts_of(const std::string& flag, bool clang);

struct FlagBlame {
  enum class Culprit : std::uint8_t {
    flags,     // with the good compiler too
    compiler,  // with the good flags too
    both,      // only the bad compiler with flags of the bad toolchain
    unclear    // the parts of the question do not bring the change that the whole brings
  };
  Culprit culprit = Culprit::unclear;
  /// Every minimal set of flags that brings it; a flag that the bad toolchain lacks reads "without -x".
  std::vector<std::vector<std::string>> minimal;
  /// Of each minimal set with an umbrella in it: the smallest sets of its parts that bring the change in its place.
  std::vector<std::pair<std::string, std::vector<std::vector<std::string>>>> parts;
  std::vector<std::string> undone_by;  // where it is the compiler: flags that give the good answer again
  std::size_t evaluations = 0;
};

/// A unit's compiler and flags as one question sets them.
struct Variant {
  bool bad_compiler = false;
  std::vector<std::string> flags;
};

/// `try_variant` says whether the units, compiled so and all others left good, bring the change.
FlagBlame blame_flags(const std::vector<std::string>& good_flags, const std::vector<std::string>& bad_flags,
                      bool other_compiler, bool clang, const std::function<Answer(const Variant&)>& try_variant);

}  // namespace nbx::reports::bisect
