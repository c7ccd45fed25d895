// Which elements bring a change: every minimal set of them, by delta debugging with memory. Knows nothing of compilers;
// elements are numbers, and somebody else says what a set of them does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

namespace nbx::reports::bisect {

/// Rising and without repeats.
using Set = std::vector<std::size_t>;

enum class Answer : std::uint8_t { same, changed, untestable };

/// What the elements of a set do together, all others left as they were.
using Evaluate = std::function<Answer(const Set&)>;

struct Found {
  std::vector<Set> minimal;  // every one, in the order in which they were found
  bool complete = true;      // false: the limit was reached, or a set could not be tested, and sets may be missing
  std::vector<Set> untestable;
  /// Sets that contradict monotonicity (a set that brings the change within one that does not): {inner, outer}.
  std::vector<std::pair<Set, Set>> breaches;
  std::size_t evaluations = 0;  // of the search, each set once
  std::size_t audited = 0;      // evaluations of the audit, which look for breaches alone
};

/// Every minimal set among 0 ... elements - 1, under the assumption that a set that brings the change still does when
/// elements are added (monotonicity). Sets follow from remembered ones where they can, without being evaluated:
///
/// - One minimal set of a universe that brings the change: the shortest prefix that does, by halving, ends in a
///   necessary element; it is kept, and the prefix before it is searched for the next one.
/// - All of them: once M1 ... Mk are known, any other lies within the complement of a set that meets each of them. So
///   the complement of each minimal such set is evaluated, and nothing is missing when none brings the change.
///
/// k elements that act alone take about k · (⌈log2 n⌉ + 2) evaluations. An untestable set counts as one that does not
/// bring the change, and is reported. At last a few evaluations that monotonicity already answers: those that disagree
/// are breaches. They take what the search left of k · ⌈log2 n⌉ + 6 evaluations, and one at least. `most` bounds the
/// number of all.
Found find_minimal_sets(std::size_t elements, const Evaluate& evaluate, std::size_t most = 10'000);

}  // namespace nbx::reports::bisect
