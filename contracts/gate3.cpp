// Gate 3: two ways of asking for the same thing give the same bits.
#include <fmt/format.h>

#include "contracts/compare.hpp"
#include "contracts/red.hpp"

namespace nbx::contracts {
namespace {

std::optional<Verdict> compare(Subject& subject, const std::string& way, const Call& call, const Outcome& outcome,
                               const std::map<std::string, std::vector<std::int64_t>>* base) {
  if (auto verdict = not_run(subject, way, outcome)) return verdict;
  const Call plain = subject.call(subject.prepared->instance->call());
  const auto found = difference(plain, subject.base(), call, outcome, base);
  if (!found) return std::nullopt;
  return red_difference(subject, way, output_info(*subject.prepared->instance, found->output), *found);
}

Verdict along_axes(Subject& subject, std::string_view clause) {
  if (auto verdict = not_run(subject, "", subject.base())) return *verdict;
  Verdict verdict{};
  for (const AxisInfo& axis : subject.kernel().axes) {
    if (axis.clause != clause) continue;
    for (const std::int64_t value : axis.values) {
      Call call = subject.call(subject.prepared->instance->call());
      call.launch.options = {int_param(axis.option, value)};
      const std::string way = fmt::format("{}={}", axis.option, value);
      const Outcome outcome = subject.run(call);
      if (outcome.kind == Outcome::Kind::refused && outcome.status == NBX_UNSUPPORTED) continue;
      if (auto red = compare(subject, way, call, outcome, nullptr)) return *red;
      verdict.kind = Verdict::Kind::pass;
    }
  }
  return verdict;
}

/// A way that the kernel declines (a layout that it does not serve) asks nothing; all declined is declined.
Verdict along_ways(Subject& subject, std::string_view clause) {
  const std::vector<Way> ways = subject.prepared->instance->ways(clause, subject.full);
  if (ways.empty()) return {};
  if (auto verdict = not_run(subject, "", subject.base())) return *verdict;
  Verdict verdict{.kind = Verdict::Kind::declined};
  for (const Way& way : ways) {
    const Call call = subject.call(way.call);
    const Outcome outcome = subject.run(call);
    if (outcome.kind == Outcome::Kind::refused && outcome.status == NBX_UNSUPPORTED) {
      if (verdict.reason.empty()) verdict.reason = outcome.message;
      continue;
    }
    if (auto red = compare(subject, way.name, call, outcome, &way.base)) return *red;
    verdict.kind = Verdict::Kind::pass;
  }
  return verdict;
}

}  // namespace

Verdict judge_grid(Subject& subject) { return along_axes(subject, "gate3.grid"); }
Verdict judge_chunk(Subject& subject) { return along_axes(subject, "gate3.chunk"); }
Verdict judge_split(Subject& subject) { return along_axes(subject, "gate3.split"); }
Verdict judge_rows(Subject& subject) { return along_ways(subject, "gate3.rows"); }
Verdict judge_batch(Subject& subject) { return along_ways(subject, "gate3.batch"); }
Verdict judge_view(Subject& subject) { return along_ways(subject, "gate3.view"); }
Verdict judge_pad(Subject& subject) { return along_ways(subject, "gate3.pad"); }

Verdict judge_pair(Subject& subject) {
  Verdict verdict{};
  for (const EqualityInfo& equality : subject.kernel().equalities) {
    if (equality.clause != "gate3.pair" || !equality.reason.empty()) continue;
    if (equality.other == subject.honest_name()) {
      Verdict own = along_ways(subject, "gate3.pair");
      if (own.kind == Verdict::Kind::red) return own;
      if (verdict.kind == Verdict::Kind::nothing_asked) verdict = own;
      continue;
    }
    const auto partner = subject.partner ? subject.partner(equality.other) : std::nullopt;
    if (!partner)
      return red_text(
          {{"wrong", fmt::format("promises the bits of {}, which is in no pack of this run", equality.other)}});
    if (auto stop = not_run(subject, "", subject.base())) return *stop;
    const Call call = call_for(subject.family(), *partner->kernel, subject.prepared->instance->call());
    const Outcome outcome = partner->executor->execute(call);
    if (outcome.kind == Outcome::Kind::refused && outcome.status == NBX_UNSUPPORTED) continue;
    if (auto red = compare(subject, fmt::format("by {}", equality.other), call, outcome, nullptr)) return *red;
    verdict.kind = Verdict::Kind::pass;
  }
  return verdict;
}

Verdict judge_twin(Subject& subject) {
  if (auto verdict = not_run(subject, "", subject.base())) return *verdict;
  const Call plain = subject.call(subject.prepared->instance->call());
  if (const auto twin = subject.twin ? subject.twin() : std::nullopt) {
    const Call call = call_for(subject.family(), *twin->kernel, subject.prepared->instance->call());
    const Outcome outcome = twin->executor->execute(call);
    if (auto red = compare(subject, "on the other device", call, outcome, nullptr)) return *red;
    return Verdict::passed();
  }
  // No other device here: its recorded bits stand for it.
  if (!subject.records || subject.records->empty()) return {};
  const auto found = subject.records->of_case(subject.honest_name(), subject.prepared->problem->name, subject.seed);
  if (found.empty())
    return {.kind = Verdict::Kind::pending, .reason = "no recorded bits of another device for this problem and seed"};
  const auto tensors = output_tensors(plain);
  for (const Records::Found& record : found)
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const auto recorded = record.fingerprints->find(tensors[i]->name);
      if (recorded == record.fingerprints->end()) continue;
      const Fingerprint now = fingerprint(subject.base().outputs[i], tensors[i]->dtype);
      if (now == recorded->second) continue;
      std::string blocks;
      for (std::size_t b = 0; b < std::min(now.blocks.size(), recorded->second.blocks.size()); ++b)
        if (now.blocks[b] != recorded->second.blocks[b] && blocks.size() < 40) blocks += fmt::format(" {}", b);
      return red_text(
          {{"wrong", fmt::format("other bits of {} than recorded on {}", tensors[i]->name, record.record->device)},
           {"where", fmt::format("blocks of {} elements:{}", fingerprint_block, blocks)},
           {"recorded", fmt::format("{:016x}", recorded->second.whole)},
           {"now", fmt::format("{:016x}", now.whole)}});
    }
  return Verdict::passed();
}

}  // namespace nbx::contracts
