#include "contracts/child/worker_call.hpp"

#include <fmt/format.h>

#include <cstring>
#include <exception>
#include <iterator>
#include <new>
#include <thread>
#include <utility>
#include <vector>

#include "contracts/child/device_memory.hpp"
#include "contracts/child/in_process_ring.hpp"

namespace nbx::contracts::sandbox {
namespace {

constexpr std::int64_t message_bytes = 1024;

/// Blocks of guarded memory, one a rank, given back at the end.
class Blocks {
 public:
  Blocks(HostMemory& memory, int count, std::int64_t bytes) : memory_(memory) {
    for (int i = 0; i < count; ++i) blocks_.push_back(memory.take(bytes, 1));
  }
  ~Blocks() {
    for (const Block& block : blocks_) memory_.give(block);
  }
  Blocks(const Blocks&) = delete;
  Blocks& operator=(const Blocks&) = delete;

  const Block& operator[](int i) const { return blocks_[static_cast<std::size_t>(i)]; }

 private:
  HostMemory& memory_;
  std::vector<Block> blocks_;
};

Zone forbidden_zone(std::size_t tensor, const std::string& called) {
  Zone zone{};
  zone.first = zone.storage = reinterpret_cast<std::uintptr_t>(forbidden_address(tensor));
  zone.storage_end = zone.last = zone.first + forbidden_bytes;
  called.copy(zone.name, sizeof zone.name - 1);
  return zone;
}

}  // namespace

CallRunner::CallRunner(const LoadedPack& pack, SharedFile& file)
    : pack_(pack), file_(file), message_(messages_.take(message_bytes, 1)) {
  if (pack.memory() != nullptr) {
    memory_ = std::make_unique<DeviceMemory>(*pack.memory());
  } else {
    memory_ = std::make_unique<HostMemory>();
  }
}

CallRunner::~CallRunner() { messages_.give(message_); }

void CallRunner::add_zone(const Zone& zone) {
  Note& note = file_.note();
  const std::uint32_t at = note.zones.load();
  if (at == std::size(note.zone)) return;  // its faults are reported by address alone
  note.zone[at] = zone;
  note.zones.store(at + 1);
}

wire::Answer CallRunner::answer(const wire::Request& request) {
  wire::Answer answer;
  const LoadedKernel* const kernel = pack_.find(request.call.kernel);
  if (kernel == nullptr) {
    answer.outcome.message = fmt::format("the pack {} has no kernel {}", pack_.info().name, request.call.kernel);
    return answer;
  }
  try {
    dispatch(*kernel, request, answer);
  } catch (const DeviceFailure& failure) {
    answer.outcome.kind = Outcome::Kind::crashed;
    answer.outcome.message = failure.what();
  } catch (const std::bad_alloc&) {
    answer.error = "no memory for the tensors of a call";
  } catch (const std::exception& error) {
    answer.error = error.what();
  }
  // A device that failed once may fail ever after.
  answer.last = answer.outcome.kind == Outcome::Kind::crashed;
  return answer;
}

void CallRunner::dispatch(const LoadedKernel& kernel, const wire::Request& request, wire::Answer& answer) {
  file_.note().zones.store(0);
  for (std::size_t i = 0; i < request.call.tensors.size(); ++i) {
    add_zone(forbidden_zone(i, request.call.tensors[i].name));
  }
  if (request.operation >= wire::Operation::execute) return run_guarded(kernel, request, answer);
  RankRun one(request.call, request.call.rank, {}, pack_, kernel, file_.note(), message_);
  KernelEntries& entries = one.entries();
  if (request.operation == wire::Operation::can_run) {
    entries.can_run();
  } else if (request.operation == wire::Operation::explain) {
    entries.explain();
  } else if (request.operation == wire::Operation::cost) {
    Cost cost;
    if (entries.cost(cost)) answer.cost = std::move(cost);
  } else {
    nbx_arithmetic arithmetic{};
    if (entries.arithmetic(arithmetic)) answer.arithmetic = arithmetic;
  }
  answer.outcome = std::move(one.outcome());
}

void CallRunner::run_guarded(const LoadedKernel& kernel, const wire::Request& request, wire::Answer& answer) {
  const Call& call = request.call;
  std::vector<std::byte*> dense;
  for (const std::uint64_t place : request.places) dense.push_back(file_.data() + place);
  Blocks messages(messages_, call.ranks, message_bytes);
  std::deque<RankRun> ranks;
  std::vector<Outcome*> outcomes;
  for (int rank = 0; rank < call.ranks; ++rank) {
    outcomes.push_back(&ranks.emplace_back(call, rank, dense, pack_, kernel, file_.note(), messages[rank]).outcome());
  }
  answer.outputs = run_ranks(ranks, request.operation);
  join_outcomes(std::move(outcomes), answer.outcome);
}

bool CallRunner::run_ranks(std::deque<RankRun>& ranks, wire::Operation operation) {
  const bool whole = operation == wire::Operation::execute;
  for (RankRun& one : ranks) {
    KernelEntries& entries = one.entries();
    if (whole && !entries.can_run()) return false;
    if (entries.workspace_bytes()) continue;
    // A call that must be refused: the entry under test sees it all the same, with a workspace of no byte.
    if (whole || one.outcome().kind == Outcome::Kind::broken) return false;
    entries.go_on();
  }
  file_.note().zones.store(0);
  InProcessRing ring(static_cast<int>(ranks.size()), pack_.memory());
  for (RankRun& one : ranks) {
    one.place(*memory_, ranks.size() == 1 ? nullptr : &ring.communicator(one.call().rank));
    for (const Zone& zone : one.zones()) add_zone(zone);
  }
  bool may_run = operation != wire::Operation::check_only;
  if (operation != wire::Operation::run_unchecked) {
    for (RankRun& one : ranks) may_run = one.entries().check() && may_run;
  }
  if (may_run && ranks.size() == 1) ranks.front().entries().run(pack_.memory());
  if (may_run && ranks.size() > 1) {
    std::vector<std::thread> team;
    for (RankRun& one : ranks) {
      team.emplace_back([&one, &ring, this] {
        one.entries().run(pack_.memory());
        ring.leave(one.call().rank);
      });
    }
    for (std::thread& member : team) member.join();
  }
  // A device that is gone has taken its memory with it.
  for (RankRun& one : ranks) {
    if (one.outcome().kind == Outcome::Kind::crashed) return false;
  }
  for (RankRun& one : ranks) one.gather();
  return true;
}

}  // namespace nbx::contracts::sandbox
