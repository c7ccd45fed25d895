// A clause: one promise, and how it is judged.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "contracts/gates/subject.hpp"
#include "contracts/result.hpp"

namespace nbx::contracts {

/// What a clause found in one case. Nothing asked is not a pass: it is no case at all.
struct Verdict {
  enum class Kind : std::uint8_t { nothing_asked, pass, red, declined, pending, stale };
  Kind kind = Kind::nothing_asked;
  std::string reason{};  // of declined, pending, stale
  Red red{};
  double worst_share = 0;
  std::int64_t elements = 0, overflow_open = 0;
  std::vector<std::int64_t> escalations{};
  std::vector<std::pair<std::string, std::string>> detail{};  // of a pass, what `explain` tells

  static Verdict passed() { return {.kind = Kind::pass}; }
};

struct Clause {
  std::string_view id;        // "gate3.rows"
  std::string_view sentence;  // what holds
  std::string_view source;    // where the promise comes from
  int gate = 0;
  /// Whether it is asked of this kernel at all (its promises), beside the problem's own uses.
  bool (*applies)(const KernelInfo& kernel, const PackInfo& pack) = nullptr;
  bool equality = true;  // asked only of problems that gates 2 and 3 run on; else of every problem
  Verdict (*judge)(Subject& subject) = nullptr;
};

/// Clauses that are asked problem by problem, in the order of the gates.
std::span<const Clause> clauses();

/// Clauses that bring their own calls (gate 4): each judged once per kernel and call. They stand in gate4.cpp.
struct CallClause {
  std::string_view id, sentence, source;
  bool edge = false;  // asked by a family's edges, else by its refusals
};
std::span<const CallClause> call_clauses();

/// One refusal or edge, judged.
Verdict judge_refusal(Subject& subject, const Refusal& refusal);
Verdict judge_edge(Subject& subject, const Edge& edge);

/// True where the kernel lists `clause` among its equalities without a reason against it.
bool promises(const KernelInfo& kernel, std::string_view clause);

/// For Clause::applies: asked of every kernel.
bool always(const KernelInfo& kernel, const PackInfo& pack);

// Each gate's own, in its file.
std::span<const Clause> gate1_clauses();
std::span<const Clause> gate2_clauses();
std::span<const Clause> gate3_clauses();

}  // namespace nbx::contracts
