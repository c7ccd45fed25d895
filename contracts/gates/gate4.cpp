// Gate 4: every invalid call is refused with a message that helps, and writes nothing.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "contracts/gates/compare.hpp"
#include "contracts/gates/red.hpp"

namespace nbx::contracts {
namespace {

/// `word` in `text`, not as part of a longer word or number.
bool has_word(std::string_view text, std::string_view word) {
  const auto part_of_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const bool starts = at == 0 || !part_of_word(text[at - 1]);
    const std::size_t end = at + word.size();
    if (starts && (end == text.size() || !part_of_word(text[end]))) return true;
  }
  return false;
}

std::optional<Verdict> refused_well(Subject& subject, const Refusal& refusal, const char* entry,
                                    const Outcome& outcome) {
  const std::string way = fmt::format("{}, through {}", refusal.name, entry);
  if (outcome.kind == Outcome::Kind::ran)
    return red_text({{"way", way},
                     {"wrong", "accepted an invalid call"},
                     {"expected", fmt::format("a refusal that names {} and {}", refusal.argument, refusal.value)}});
  if (outcome.kind != Outcome::Kind::refused) return red_outcome(subject, way, outcome);
  if (outcome.status != NBX_INVALID && outcome.status != NBX_UNSUPPORTED)
    return red_text(
        {{"way", way},
         {"wrong", fmt::format("refused with status {}, which is not that of an invalid call", outcome.status)},
         {"it says", outcome.message}});
  if (!outcome.wrote_nothing)
    return red_text({{"way", way}, {"wrong", "refused, yet wrote to an output"}, {"it says", outcome.message}});
  if (!outcome.faults.empty())
    return red_text({{"way", way}, {"wrong", "refused, yet " + fault_text(outcome.faults.front())}});
  if (!has_word(outcome.message, refusal.argument) || !has_word(outcome.message, refusal.value))
    return red_text({{"way", way},
                     {"wrong", fmt::format("the message does not name the argument '{}' with its value '{}'",
                                           refusal.argument, refusal.value)},
                     {"it says", outcome.message.empty() ? "(nothing)" : outcome.message}});
  return std::nullopt;
}

constexpr std::string_view refused =
    "an invalid call is refused, names argument, value and what is accepted, and "
    "writes nothing";
constexpr std::string_view documented = "the family's preconditions (kernels/README.md)";
constexpr CallClause calls[] = {
    {"gate4.axis", refused, documented},
    {"gate4.shape", refused, documented},
    {"gate4.format", refused, documented},
    {"gate4.missing", refused, documented},
    {"gate4.unknown", refused, documented},
    {"gate4.head_dim", refused, documented},
    {"gate4.heads", refused, documented},
    {"gate4.kv_shape", refused, documented},
    {"gate4.mask", refused, documented},
    {"gate4.scale", refused, documented},
    {"gate4.causal", refused, documented},
    {"gate4.k_layout", refused, documented},
    {"gate4.profile", refused, documented},
    {"gate4.metadata", refused, documented},
    {"gate4.ring", refused, documented},
    {"gate4.lengths", refused, documented},
    {"gate4.chunks", refused, documented},
    {"gate4.pool", refused, documented},
    {"gate4.slots", refused, documented},
    {"gate4.table", refused, documented},
    {"gate4.empty", "empty tensors are right or refused, never wrong", documented, true},
    {"gate4.grid", "more rows than an axis of a grid holds are right or refused, never wrong", documented, true},
    {"gate4.offsets", "offsets past 2^31 elements are right or refused, never wrong", documented, true},
};

}  // namespace

std::span<const CallClause> call_clauses() { return calls; }

Verdict judge_refusal(Subject& subject, const Refusal& refusal) {
  const Call call = subject.call(refusal.call);
  if (auto red = refused_well(subject, refusal, "check", subject.executor().check_only(call))) return *red;
  if (refusal.in_table) return Verdict::passed();
  if (auto red = refused_well(subject, refusal, "run", subject.executor().run_unchecked(call))) return *red;
  return Verdict::passed();
}

Verdict judge_edge(Subject& subject, const Edge& edge) {
  const Call call = subject.call(edge.call);
  const Outcome outcome = subject.run(call);
  if (outcome.kind == Outcome::Kind::refused && outcome.status == NBX_UNSUPPORTED && !outcome.message.empty())
    return {.kind = Verdict::Kind::declined, .reason = outcome.message};
  if (outcome.kind == Outcome::Kind::refused && outcome.status == NBX_INVALID && !outcome.message.empty() &&
      outcome.wrote_nothing)
    return Verdict::passed();
  if (auto verdict = not_run(subject, edge.name, outcome)) return *verdict;
  if (!outcome.faults.empty()) return red_text({{"way", edge.name}, {"wrong", fault_text(outcome.faults.front())}});
  const auto tensors = output_tensors(call);
  if (edge.plain) {
    const Call plain = subject.call(*edge.plain);
    const Outcome right = subject.run(plain);
    if (auto verdict = not_run(subject, edge.name + ", the plain call", right)) return *verdict;
    if (const auto found = difference(plain, right, call, outcome))
      return red_text({{"way", edge.name},
                       {"wrong", fmt::format("{} elements of {} differ from the same call in ordinary memory",
                                             found->differing.size(), found->output)}});
    return Verdict::passed();
  }
  const auto all = output_tensors(edge.call);
  for (std::size_t i = 0; i < tensors.size(); ++i)
    for (std::size_t e = 0; e < all.size(); ++e)
      if (all[e]->name == tensors[i]->name && outcome.outputs[i] != edge.expected.at(e))
        return red_text(
            {{"way", edge.name},
             {"wrong", fmt::format("{} is not what an empty problem gives (O = +0, LSE = -inf)", tensors[i]->name)}});
  return Verdict::passed();
}

}  // namespace nbx::contracts
