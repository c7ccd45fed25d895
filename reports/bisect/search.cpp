#include "reports/bisect/search.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <optional>

namespace nbx::reports::bisect {
namespace {

bool within(const Set& inner, const Set& outer) {
  return std::includes(outer.begin(), outer.end(), inner.begin(), inner.end());
}

Set united(const Set& a, const Set& b) {
  Set out;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(out));
  return out;
}

Set without(const Set& a, const Set& b) {
  Set out;
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(out));
  return out;
}

Set first_of(const Set& set, std::size_t count) {
  return {set.begin(), set.begin() + static_cast<std::ptrdiff_t>(count)};
}

struct LimitReached {};

/// All that was evaluated, and what follows from it.
class Memory {
 public:
  Memory(const Evaluate& evaluate, std::size_t most) : evaluate_(evaluate), most_(most) {}

  /// What the set does: remembered, implied by monotonicity, or evaluated.
  bool changes(const Set& set) {
    if (const auto known = implied(set)) return *known;
    return ask(set) == Answer::changed;
  }

  /// Evaluated even where monotonicity implies the answer; a disagreement with an earlier evaluation is noted.
  Answer ask(const Set& set) {
    const auto at = answers_.find(set);
    if (at != answers_.end()) return at->second;
    if (answers_.size() >= most_) throw LimitReached{};
    const Answer answer = evaluate_(set);
    if (answer == Answer::untestable) found_untestable.push_back(set);
    for (const auto& [other, does] : answers_) {
      if (answer == Answer::changed && does == Answer::same && within(set, other)) breaches.emplace_back(set, other);
      if (answer == Answer::same && does == Answer::changed && within(other, set)) breaches.emplace_back(other, set);
    }
    answers_.emplace(set, answer);
    return answer;
  }

  std::size_t size() const { return answers_.size(); }

  std::vector<Set> found_untestable;
  std::vector<std::pair<Set, Set>> breaches;

 private:
  std::optional<bool> implied(const Set& set) const {
    if (set.empty()) return false;
    if (const auto at = answers_.find(set); at != answers_.end()) return at->second == Answer::changed;
    for (const auto& [other, does] : answers_) {
      if (does == Answer::changed && within(other, set)) return true;
      if (does == Answer::same && within(set, other)) return false;
    }
    return std::nullopt;
  }

  const Evaluate& evaluate_;
  std::size_t most_;
  std::map<Set, Answer> answers_;
};

/// Where to cut a range of candidates: the first part is a whole power of two deep where it can be, one level less than
/// the second. Later searches go over what lies behind an element found, so what stands in front should be cheap.
std::size_t first_part(std::size_t count) {
  const std::size_t half = std::bit_ceil(count) / 2;  // the second part holds at most this many
  return std::max(count > half ? count - half : 1, std::min(half / 2, count - 1));
}

/// A minimal set of `universe`, which brings the change.
Set one_minimal(Memory& memory, const Set& universe) {
  Set kept, candidates = universe;
  while (!memory.changes(kept)) {
    // kept and the first `high` candidates bring the change, kept and the first `low` of them do not.
    std::size_t low = 0, high = candidates.size();
    if (high == 0) break;  // an untestable set stood in the way
    while (high - low > 1) {
      const std::size_t middle = low + first_part(high - low);
      (memory.changes(united(kept, first_of(candidates, middle))) ? high : low) = middle;
    }
    kept = united(kept, {candidates[high - 1]});
    candidates = first_of(candidates, high - 1);
  }
  return kept;
}

/// Every minimal set that meets each of `sets`.
std::vector<Set> minimal_transversals(const std::vector<Set>& sets) {
  std::vector<Set> crossing{{}};
  for (const Set& set : sets) {
    std::vector<Set> next;
    for (const Set& one : crossing) {
      Set meets;
      std::set_intersection(one.begin(), one.end(), set.begin(), set.end(), std::back_inserter(meets));
      if (!meets.empty()) {
        next.push_back(one);
      } else {
        for (const std::size_t element : set) next.push_back(united(one, {element}));
      }
    }
    std::sort(next.begin(), next.end(),
              [](const Set& a, const Set& b) { return a.size() != b.size() ? a.size() < b.size() : a < b; });
    crossing.clear();
    for (const Set& one : next) {
      const auto covers = [&](const Set& smaller) { return within(smaller, one); };
      if (std::none_of(crossing.begin(), crossing.end(), covers)) crossing.push_back(one);
    }
  }
  return crossing;
}

void search(Memory& memory, const Set& all, Found& found) {
  for (bool more = true; more;) {
    more = false;
    for (const Set& crossing : minimal_transversals(found.minimal)) {
      const Set rest = without(all, crossing);
      if (!memory.changes(rest)) continue;
      const Set minimal = one_minimal(memory, rest);
      if (memory.changes(minimal)) {
        found.minimal.push_back(minimal);
        more = true;
      } else {
        found.complete = false;
      }
      break;
    }
  }
}

/// What monotonicity answers already, the likeliest breach first: all found sets together, each with all that was
/// cleared (which might take the change back), the two halves of what was cleared, each interacting set less one
/// element.
std::vector<Set> audit_questions(const Set& all, const Found& found, const Set& guilty) {
  std::vector<Set> questions;
  const Set cleared = without(all, guilty);
  if (found.minimal.size() > 1) questions.push_back(guilty);
  for (const Set& minimal : found.minimal) questions.push_back(united(minimal, cleared));
  if (cleared.size() > 1) {
    const Set half = first_of(cleared, cleared.size() / 2);
    questions.push_back(half);
    questions.push_back(without(cleared, half));
  }
  for (const Set& minimal : found.minimal) {
    if (minimal.size() < 2) continue;
    for (const std::size_t element : minimal) questions.push_back(without(minimal, {element}));
  }
  return questions;
}

/// Asks one question at least, and the others as far as search and audit together stay within g · ⌈log2 n⌉ + 6
/// evaluations for g guilty elements of n.
void audit(Memory& memory, const Set& all, const Found& found) {
  Set guilty;
  for (const Set& minimal : found.minimal) guilty = united(guilty, minimal);
  const auto levels = static_cast<std::size_t>(std::bit_width(all.size() - 1));  // ⌈log2 n⌉
  const std::size_t most = std::max(guilty.size() * levels + 6, memory.size() + 1);
  for (const Set& question : audit_questions(all, found, guilty)) {
    if (memory.size() >= most) return;
    memory.ask(question);
  }
}

}  // namespace

Found find_minimal_sets(std::size_t elements, const Evaluate& evaluate, std::size_t most) {
  Set all(elements);
  for (std::size_t i = 0; i < elements; ++i) all[i] = i;
  Found found;
  Memory memory(evaluate, most);
  try {
    search(memory, all, found);
    found.evaluations = memory.size();
    if (!found.minimal.empty()) audit(memory, all, found);
    found.audited = memory.size() - found.evaluations;
  } catch (const LimitReached&) {
    found.complete = false;
    if (found.evaluations == 0) found.evaluations = memory.size();
  }
  found.untestable = memory.found_untestable;
  found.breaches = memory.breaches;
  if (!found.untestable.empty() || !found.breaches.empty()) found.complete = false;
  return found;
}

}  // namespace nbx::reports::bisect
