// Gate 3: two ways of asking for the same thing give the same bits.
#include <fmt/format.h>

#include <algorithm>

#include "contracts/gates/clause.hpp"
#include "contracts/gates/compare.hpp"
#include "contracts/gates/red.hpp"

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
      const std::string way = fmt::format("{}={}", axis.option, value);
      const Outcome& outcome = subject.along(axis, value);
      if (outcome.kind == Outcome::Kind::refused && outcome.status == NBX_UNSUPPORTED) continue;
      const Call plain = subject.call(subject.prepared->instance->call());
      if (auto red = compare(subject, way, plain, outcome, nullptr)) return *red;
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

Verdict judge_grid(Subject& subject) { return along_axes(subject, "gate3.grid"); }
Verdict judge_chunk(Subject& subject) { return along_axes(subject, "gate3.chunk"); }
Verdict judge_split(Subject& subject) { return along_axes(subject, "gate3.split"); }
Verdict judge_rows(Subject& subject) { return along_ways(subject, "gate3.rows"); }
Verdict judge_batch(Subject& subject) { return along_ways(subject, "gate3.batch"); }
Verdict judge_view(Subject& subject) { return along_ways(subject, "gate3.view"); }
Verdict judge_pages(Subject& subject) { return along_ways(subject, "gate3.pages"); }
Verdict judge_pad(Subject& subject) { return along_ways(subject, "gate3.pad"); }

Verdict judge_pair(Subject& subject) {
  Verdict verdict = along_axes(subject, "gate3.pair");  // two ways that one kernel has of doing the same
  if (verdict.kind == Verdict::Kind::red) return verdict;
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
    const auto same = subject.prepared->instance->call_as(partner->kernel->family);
    const Family* const family = family_named(partner->kernel->family);
    if (!same || !family) continue;  // this problem says nothing to that family
    const Call call = call_for(*family, *partner->kernel, *same);
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
  if (!subject.records || subject.records->empty())
    return {.kind = Verdict::Kind::pending, .reason = "no other device, and no record of one"};
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
  for (const Records::Found& record : found) {
    if (!record.other_code) continue;
    return {.kind = Verdict::Kind::stale,
            .reason = fmt::format("the bits are those recorded on {}, but of other machine code than today's build has",
                                  record.record->device)};
  }
  return Verdict::passed();
}

template <const char* id>
bool promised(const KernelInfo& kernel, const PackInfo&) {
  return promises(kernel, id);
}

bool has_axis(const KernelInfo& kernel, std::string_view clause) {
  return std::any_of(kernel.axes.begin(), kernel.axes.end(),
                     [&](const AxisInfo& axis) { return axis.clause == clause; });
}
bool has_grid(const KernelInfo& kernel, const PackInfo&) { return has_axis(kernel, "gate3.grid"); }
bool has_chunk(const KernelInfo& kernel, const PackInfo&) { return has_axis(kernel, "gate3.chunk"); }
bool has_split(const KernelInfo& kernel, const PackInfo&) { return has_axis(kernel, "gate3.split"); }

constexpr char rows[] = "gate3.rows", batch[] = "gate3.batch", view[] = "gate3.view", pad[] = "gate3.pad",
               pages[] = "gate3.pages", pair[] = "gate3.pair", twin[] = "gate3.twin";

constexpr Clause table[] = {
    {.id = "gate3.grid",
     .sentence = "the launch grid changes no bit",
     .source = "promised by the kernel's axes",
     .gate = 3,
     .applies = has_grid,
     .judge = judge_grid},
    {.id = "gate3.rows",
     .sentence = "rows launched alone have the bits of rows launched together",
     .source = "promised by the kernel",
     .gate = 3,
     .applies = promised<rows>,
     .judge = judge_rows},
    {.id = "gate3.batch",
     .sentence = "a sequence alone has the bits of a sequence among strangers",
     .source = "promised by the kernel",
     .gate = 3,
     .applies = promised<batch>,
     .judge = judge_batch},
    {.id = "gate3.chunk",
     .sentence = "every chunk height gives the same bits",
     .source = "promised by the kernel's axes",
     .gate = 3,
     .applies = has_chunk,
     .judge = judge_chunk},
    {.id = "gate3.split",
     .sentence = "every number of splits gives the same bits",
     .source = "promised by the kernel's axes",
     .gate = 3,
     .applies = has_split,
     .judge = judge_split},
    {.id = "gate3.view",
     .sentence = "strides change no bit: permuted, spread, broadcast, and odd on size-1 axes",
     .source = "promised by the kernel",
     .gate = 3,
     .applies = promised<view>,
     .judge = judge_view},
    {.id = "gate3.pad",
     .sentence = "padding behind -inf changes no bit",
     .source = "promised by the kernel",
     .gate = 3,
     .applies = promised<pad>,
     .judge = judge_pad},
    {.id = "gate3.pages",
     .sentence = "pages may lie anywhere, be shared and have gaps between them, and no bit changes",
     .source = "promised by the kernel",
     .gate = 3,
     .applies = promised<pages>,
     .judge = judge_pages},
    {.id = "gate3.pair",
     .sentence = "two named kernels, or one with KV heads shared and expanded, give the same bits",
     .source = "promised by the kernel",
     .gate = 3,
     .applies = promised<pair>,
     .judge = judge_pair},
    {.id = "gate3.twin",
     .sentence = "the CPU and the GPU give the same bits",
     .source = "one source for both back ends; without a GPU its recorded bits stand for it",
     .gate = 3,
     .applies = promised<twin>,
     .equality = false,
     .judge = judge_twin},
};

}  // namespace

std::span<const Clause> gate3_clauses() { return table; }

}  // namespace nbx::contracts
