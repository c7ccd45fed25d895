// Gate 2: the same bits on every run and in every order; every element written, nothing else touched.
#include <fmt/format.h>

#include <algorithm>

#include "contracts/dense.hpp"
#include "contracts/formats.hpp"
#include "contracts/gates/clause.hpp"
#include "contracts/gates/compare.hpp"
#include "contracts/gates/red.hpp"

namespace nbx::contracts {
namespace {

constexpr Poison poisons[] = {Poison::ones, Poison::zeros, Poison::nan, Poison::large, Poison::larger};

const char* poison_name(Poison poison) {
  constexpr const char* names[] = {"0xFF bytes", "0x00 bytes", "NaN", "a large number", "a larger number"};
  return names[static_cast<int>(poison)];
}

/// The plain call with outputs, workspace, tails and guard zones poisoned differently each time.
template <class Look>
Verdict with_poisons(Subject& subject, int runs, const Call& call, Look&& look) {
  for (int i = 0; i < runs; ++i) {
    Call poisoned = call;
    poisoned.poison = poisons[i % 5];
    const std::string way = fmt::format("run {}, memory filled with {}", i + 1, poison_name(poisoned.poison));
    const Outcome outcome = subject.run(poisoned);
    if (auto verdict = not_run(subject, way, outcome)) return *verdict;
    if (std::optional<Verdict> red = look(way, outcome)) return *red;
  }
  return Verdict::passed();
}

/// The plain call's tensors with gaps between rows and elements before them, so that tails and gaps can be looked at.
Call spread(Subject& subject) {
  Call call = subject.call(subject.prepared->instance->call());
  for (CallTensor& tensor : call.tensors) {
    std::vector<int> order;
    for (std::size_t i = 0; i < tensor.shape.size(); ++i) order.push_back(static_cast<int>(i));
    lay_out(tensor, order, 5, 3, 1);
  }
  return call;
}

std::optional<Verdict> first_fault(const std::string& way, const Outcome& outcome) {
  if (outcome.faults.empty()) return std::nullopt;
  std::vector<std::pair<std::string, std::string>> lines{{"way", way}};
  for (const MemoryFault& fault : outcome.faults) lines.emplace_back("wrong", fault_text(fault));
  return red_text(std::move(lines));
}

Verdict judge_repeat(Subject& subject) {
  const Outcome& base = subject.base();
  if (auto verdict = not_run(subject, "", base)) return *verdict;
  const Call call = subject.call(subject.prepared->instance->call());
  return with_poisons(subject, subject.full ? 35 : 5, call,
                      [&](const std::string& way, const Outcome& outcome) -> std::optional<Verdict> {
                        const auto found = difference(call, base, call, outcome);
                        if (!found) return std::nullopt;
                        return red_difference(subject, way, output_info(*subject.prepared->instance, found->output),
                                              *found);
                      });
}

Verdict judge_order(Subject& subject) {
  struct Order {
    const char* name;
    nbx_order block, item;
    std::uint64_t seed;
    std::uint32_t threads;
  };
  static constexpr Order orders[] = {
      {"blocks in reverse", NBX_REVERSE, NBX_FORWARD, 0, 1},
      {"items in reverse", NBX_FORWARD, NBX_REVERSE, 0, 1},
      {"blocks strided", NBX_STRIDED, NBX_STRIDED, 0, 1},
      {"blocks and items shuffled", NBX_SHUFFLED, NBX_SHUFFLED, 1, 1},
      {"items shuffled again", NBX_FORWARD, NBX_SHUFFLED, 2, 1},
      {"blocks on four threads", NBX_FORWARD, NBX_FORWARD, 0, 4},
  };
  const Outcome& base = subject.base();
  if (auto verdict = not_run(subject, "", base)) return *verdict;
  const Call plain = subject.call(subject.prepared->instance->call());
  const int seeds = subject.full ? 8 : 1;
  for (int more = 0; more < seeds; ++more)
    for (const Order& order : orders) {
      if (more && order.seed == 0) continue;
      Call call = plain;
      call.launch.block_order = order.block;
      call.launch.item_order = order.item;
      call.launch.order_seed = order.seed + 16 * static_cast<std::uint64_t>(more);
      call.launch.threads = order.threads;
      const Outcome outcome = subject.run(call);
      if (auto verdict = not_run(subject, order.name, outcome)) return *verdict;
      if (const auto found = difference(plain, base, call, outcome))
        return red_difference(subject, order.name, output_info(*subject.prepared->instance, found->output), *found);
    }
  return Verdict::passed();
}

Verdict judge_written(Subject& subject) {
  // An element that nobody writes keeps its poison: two runs with different poisons then disagree there, and each run
  // agrees with its own poison.
  const Call call = subject.call(subject.prepared->instance->call());
  Call first = call, second = call;
  first.poison = Poison::ones;
  second.poison = Poison::zeros;
  const Outcome a = subject.run(first);
  if (auto verdict = not_run(subject, "", a)) return *verdict;
  const Outcome b = subject.run(second);
  if (auto verdict = not_run(subject, "", b)) return *verdict;
  const auto tensors = output_tensors(call);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    std::vector<std::int64_t> left;
    const std::uint32_t ones = tensors[i]->dtype.bits == 32 ? 0xFFFFFFFFu : (1u << tensors[i]->dtype.bits) - 1;
    for (std::int64_t e = 0; e < count(tensors[i]->shape); ++e)
      if (pattern_at(a.outputs[i], tensors[i]->dtype, e) == ones && pattern_at(b.outputs[i], tensors[i]->dtype, e) == 0)
        left.push_back(e);
    if (left.empty()) continue;
    const OutputInfo& info = output_info(*subject.prepared->instance, tensors[i]->name);
    return red_text({{"wrong", fmt::format("{} of {} elements of {} were never written   first {}", left.size(),
                                           count(info.shape), info.name, index_text(info.shape, left.front()))},
                     {"where", spatial_pattern(info.shape, info.axes, left)}});
  }
  return Verdict::passed();
}

Verdict judge_guard(Subject& subject) {
  const auto look = [&](const std::string& way, const Outcome& outcome) { return first_fault(way, outcome); };
  Verdict verdict = with_poisons(subject, 2, subject.call(subject.prepared->instance->call()), look);
  if (verdict.kind != Verdict::Kind::pass) return verdict;
  Verdict strided = with_poisons(subject, 2, spread(subject), look);
  return strided.kind == Verdict::Kind::declined ? verdict : strided;
}

Verdict judge_reads(Subject& subject) {
  // What lies behind rows, between them and in tails is poisoned differently each time: who reads it gives other bits.
  // Past the end of each tensor lies a protected page: who reads there dies.
  const Outcome& base = subject.base();
  if (auto verdict = not_run(subject, "", base)) return *verdict;
  const Call call = subject.call(subject.prepared->instance->call()), strided = spread(subject);
  return with_poisons(subject, 5, strided,
                      [&](const std::string& way, const Outcome& outcome) -> std::optional<Verdict> {
                        const auto found = difference(call, base, strided, outcome);
                        if (!found) return std::nullopt;
                        return red_difference(subject, way + ", rows 5 elements apart",
                                              output_info(*subject.prepared->instance, found->output), *found);
                      });
}

std::string buffer_text(const std::vector<BufferUse>& buffers) {
  std::string text;
  for (const BufferUse& one : buffers)
    text += fmt::format("{}{} of {} bytes, made at {}, freed {}", text.empty() ? "" : "; ", one.name, one.bytes,
                        one.made, one.freed < 0 ? "never" : fmt::format("at {}", one.freed));
  return text.empty() ? "none" : text;
}

/// The most bytes that are held at one time.
std::uint64_t peak(const std::vector<BufferUse>& buffers) {
  std::uint64_t most = 0;
  for (const BufferUse& now : buffers) {
    std::uint64_t held = 0;
    for (const BufferUse& one : buffers)
      if (one.made <= now.made && (one.freed < 0 || one.freed > now.made)) held += one.bytes;
    most = std::max(most, held);
  }
  return most;
}

Verdict cost_of(Subject& subject, const Call& plain, const std::string& way) {
  std::string why;
  const auto declared = subject.executor().cost(plain, &why);
  if (!declared) return red_text({{"way", way}, {"wrong", "declares no cost for this call"}, {"it says", why}});
  Call call = plain;
  call.tracked = true;
  const Outcome outcome = subject.run(call);
  if (auto verdict = not_run(subject, way, outcome)) return *verdict;
  if (auto red = first_fault(way, outcome)) return *red;
  const auto differ = [&](const char* what, const std::string& says, const std::string& seen) {
    return red_text(
        {{"way", way}, {"wrong", std::string(what) + " is not what it declares"}, {"declared", says}, {"seen", seen}});
  };
  if (outcome.buffers != declared->buffers)
    return differ("what it takes", buffer_text(declared->buffers), buffer_text(outcome.buffers));
  if (peak(outcome.buffers) != declared->peak_bytes)
    return differ("the peak", fmt::format("{} bytes", declared->peak_bytes),
                  fmt::format("{} bytes", peak(outcome.buffers)));
  std::uint64_t returned = 0;
  for (const Bytes& output : outcome.outputs) returned += output.size();
  if (returned != declared->returned_bytes)
    return differ("what it returns", fmt::format("{} bytes", declared->returned_bytes),
                  fmt::format("{} bytes", returned));
  const auto operations = static_cast<std::uint64_t>(2 * subject.prepared->problem->work);
  if (operations != declared->operations)
    return differ("the number of operations", fmt::format("{}", declared->operations), fmt::format("{}", operations));
  const Outcome in_workspace = subject.run(plain);
  if (auto verdict = not_run(subject, way + ", in a workspace", in_workspace)) return *verdict;
  if (outcome.outputs != in_workspace.outputs)
    return red_text({{"way", way}, {"wrong", "other bits than with a workspace"}});
  // A refused buffer is an error that says so, before anything is written.
  for (std::size_t i = 0; i < declared->buffers.size(); ++i) {
    call.refused = static_cast<std::int64_t>(i);
    const Outcome without = subject.run(call);
    const BufferUse& buffer = declared->buffers[i];
    if (without.kind != Outcome::Kind::refused || without.status != NBX_OUT_OF_MEMORY || !without.wrote_nothing ||
        without.message.find(std::to_string(buffer.bytes)) == std::string::npos)
      return red_text({{"way", fmt::format("{}, {} is refused", way, buffer.name)},
                       {"wrong", "no error of memory that names the bytes and writes nothing"},
                       {"it says", without.message}});
  }
  return Verdict::passed();
}

Verdict judge_cost(Subject& subject) {
  if (auto verdict = not_run(subject, "", subject.base())) return *verdict;
  const Call plain = subject.call(subject.prepared->instance->call());
  Verdict verdict = cost_of(subject, plain, "by default");
  for (const AxisInfo& axis : subject.kernel().axes)
    for (const std::int64_t value : axis.values) {
      if (verdict.kind != Verdict::Kind::pass || axis.clause != "gate3.chunk") continue;
      Call call = plain;
      call.launch.options = {int_param(axis.option, value)};
      verdict = cost_of(subject, call, fmt::format("{}={}", axis.option, value));
    }
  return verdict;
}

bool declares_cost(const KernelInfo& kernel, const PackInfo&) { return kernel.declares_cost; }

bool on_host(const KernelInfo&, const PackInfo& pack) { return pack.device.device_type == kDLCPU; }

constexpr Clause table[] = {
    {.id = "gate2.repeat",
     .sentence = "five runs give the same bits, whatever memory held before",
     .source = "determinism; the workspace's content is undefined by the pack interface",
     .gate = 2,
     .applies = always,
     .judge = judge_repeat},
    {.id = "gate2.order",
     .sentence = "the order of blocks and of items changes no bit",
     .source = "items of a phase and blocks of a grid are independent: another answer is a race",
     .gate = 2,
     .applies = on_host,
     .judge = judge_order},
    {.id = "gate2.written",
     .sentence = "every output element is written",
     .source = "the roles of the pack interface",
     .gate = 2,
     .applies = always,
     .judge = judge_written},
    {.id = "gate2.guard",
     .sentence = "guard zones, gaps between rows and inputs keep their bytes",
     .source = "the roles of the pack interface",
     .gate = 2,
     .applies = always,
     .judge = judge_guard},
    {.id = "gate2.reads",
     .sentence =
         "nothing outside the tensors is read: what lies there never shows, and a protected page is not touched",
     .source = "the roles of the pack interface",
     .gate = 2,
     .applies = always,
     .judge = judge_reads},
    {.id = "gate2.cost",
     .sentence = "a run takes the buffers that are declared, to the byte, and an error of memory writes nothing",
     .source = "the kernel's declared cost",
     .gate = 2,
     .applies = declares_cost,
     .judge = judge_cost},
};

}  // namespace

std::span<const Clause> gate2_clauses() { return table; }

}  // namespace nbx::contracts
