// Which flag of a toolchain brings a change, or whether it is the compiler itself.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "reports/bisect/search.hpp"
#include "reports/toolchains/toolchain.hpp"

namespace nbx::reports::bisect {

/// A flag with the words that belong to it: "-O3", "--param max-unroll=2".
using Flag = std::vector<std::string>;
std::vector<Flag> grouped_flags(const std::vector<std::string>& words);

/// Whose flags they are.
enum class CompilerKind : std::uint8_t { gcc, clang, nvcc };

/// The flags that an umbrella stands for ("-ffast-math", "-Ofast", "--use_fast_math"); none where it is none.
std::vector<std::string> parts_of(const std::string& flag, CompilerKind compiler);

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
  std::vector<std::string> undone_by;  // where it is the compiler: those of `milder` that give the good answer again
  std::size_t evaluations = 0;
};

/// Flags under which a compiler does less with the code: what they leave out may hold what is to blame.
std::vector<std::string> milder_flags(CompilerKind compiler);

/// A unit's compiler and flags as one question sets them.
struct Variant {
  bool bad_compiler = false;
  std::vector<std::string> flags;
};

/// `try_variant` says whether the units, compiled so and all others left good, bring the change. `milder` are tried
/// where the compiler itself is to blame.
FlagBlame blame_flags(const std::vector<std::string>& good_flags, const std::vector<std::string>& bad_flags,
                      bool other_compiler, CompilerKind compiler, const std::vector<std::string>& milder,
                      const std::function<Answer(const Variant&)>& try_variant);

}  // namespace nbx::reports::bisect
