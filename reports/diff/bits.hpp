// Two records of bits held against each other.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "contracts/records.hpp"
#include "contracts/two_packs.hpp"

namespace nbx::reports::diff {

/// An output whose fingerprints differ.
struct ChangedOutput {
  std::string problem, output;
  std::vector<std::size_t> blocks;  // of 1,024 elements, by number: those that differ; all where the counts differ
  std::size_t of = 0;               // how many blocks there are
};

struct KernelBits {
  std::string kernel;
  std::size_t cases = 0;  // in both records
  std::size_t changed_cases = 0;
  std::vector<ChangedOutput> changed;
  std::vector<std::string> gone, added;  // problems of the first record alone, of the second alone
  /// Of the changed cases, where both sides can give their elements again: every one is judged, and the first that
  /// leaves its bound is kept, or the first of all where none does.
  std::optional<contracts::PackDifference> elements;
  std::string element_case;
  std::size_t within = 0, outside = 0;
  std::string no_elements;  // why they are not told apart
  bool differs() const { return !changed.empty() || !gone.empty() || !added.empty(); }
};

struct BitsDiff {
  std::size_t kernels = 0, cases = 0;    // compared
  std::vector<KernelBits> differing;     // by name
  std::vector<std::string> gone, added;  // kernels of the first record alone, of the second alone
  bool differs() const { return !differing.empty() || !gone.empty() || !added.empty(); }
};

/// Kernels and problems that the patterns select (none: all). Throws std::runtime_error where the records are of other
/// seeds, so that not even their inputs are the same.
BitsDiff compare_bits(const contracts::Record& first, const contracts::Record& second,
                      const std::vector<std::string>& patterns);

/// Judges every changed case by what `elements_of` says of a problem.
void judge_changes(KernelBits& kernel,
                   const std::function<contracts::PackDifference(const std::string& problem)>& elements_of);

/// All outputs of a case out of a file of them; empty where the case is not whole there.
contracts::KeptOutputs kept_outputs(const contracts::StoredOutputs& stored, const std::string& kernel,
                                    const std::string& problem, const contracts::CaseFingerprints& prints);

}  // namespace nbx::reports::diff
