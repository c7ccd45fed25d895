// What a pack does: what is held against what, when a toolchain is to blame.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "contracts/runner.hpp"

namespace nbx::reports::bisect {

/// What counts as a change. Under `code` nothing is run, see code.hpp.
enum class Until : std::uint8_t { bits, gate, code };
/// "bits", "gate", "code".
const char* until_name(Until until);

/// A kernel's cases by name, and what each gave. Under Until::bits a case is a problem and gave the fingerprints of its
/// outputs, or how it failed. Under Until::gate a case is "gate1.reference(problem)" and stands here if it is red.
using Behaviour = std::map<std::string, std::map<std::string, std::string>>;

/// A pack judged twice.
struct Observed {
  Behaviour behaviour;
  std::set<std::string> unstable;  // kernels that did other things the second time
  std::string why_not;             // could not be judged: it does not load, nothing ran
  bool good() const { return why_not.empty(); }
};

/// Runs `pack` alone, with the patterns, tier and seed of `options`.
Observed observe(const std::filesystem::path& pack, Until until, const contracts::RunOptions& options);

std::string to_json(const Observed& observed);
Observed observed_from_json(const std::string& text);

struct ChangedCase {
  std::string kernel, name, good, bad;
};
/// The cases in which `bad` does something else, kernels of `ignored` apart. Under Until::gate: red and was not.
std::vector<ChangedCase> changed_cases(const Behaviour& good, const Behaviour& bad, Until until,
                                       const std::set<std::string>& ignored);

}  // namespace nbx::reports::bisect
