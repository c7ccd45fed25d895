#include "contracts/child/worker_call.hpp"

#include <fmt/format.h>

#include <cstring>
#include <exception>
#include <iterator>
#include <new>
#include <vector>

#include "contracts/child/device_memory.hpp"
#include "contracts/child/placement.hpp"
#include "contracts/child/tracking_allocator.hpp"

namespace nbx::contracts::sandbox {
namespace {

constexpr std::int64_t message_bytes = 1024;

bool is_output(const CallTensor& tensor) { return tensor.role != NBX_IN; }
bool has_content(const CallTensor& tensor) { return tensor.role == NBX_IN || tensor.role == NBX_INOUT; }

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
  CallStructs structs(request.call, pack_.device());
  KernelEntries entries(kernel, structs, file_.note(), message_, answer.outcome);
  file_.note().zones.store(0);
  for (std::size_t i = 0; i < request.call.tensors.size(); ++i) {
    add_zone(forbidden_zone(i, request.call.tensors[i].name));
  }
  if (request.operation == wire::Operation::can_run) {
    entries.can_run();
  } else if (request.operation == wire::Operation::explain) {
    entries.explain();
  } else if (request.operation == wire::Operation::cost) {
    Cost cost;
    if (entries.cost(cost)) answer.cost = std::move(cost);
  } else if (request.operation == wire::Operation::arithmetic) {
    nbx_arithmetic arithmetic{};
    if (entries.arithmetic(arithmetic)) answer.arithmetic = arithmetic;
  } else {
    run_guarded(kernel, request, structs, entries, answer);
  }
}

void CallRunner::run_guarded(const LoadedKernel& kernel, const wire::Request& request, CallStructs& structs,
                             KernelEntries& entries, wire::Answer& answer) {
  Outcome& outcome = answer.outcome;
  const bool whole = request.operation == wire::Operation::execute;
  if (whole && !entries.can_run()) return;
  if (!entries.workspace_bytes()) {
    // A call that must be refused: the entry under test sees it all the same, with a workspace of no byte.
    if (whole || outcome.kind == Outcome::Kind::broken) return;
    entries.go_on();
  }
  const Call& call = request.call;
  file_.note().zones.store(0);
  std::vector<std::unique_ptr<Placement>> tensors;
  for (std::size_t i = 0; i < call.tensors.size(); ++i) {
    const CallTensor& tensor = call.tensors[i];
    const std::byte* const content = has_content(tensor) ? file_.data() + request.places[i] : nullptr;
    tensors.push_back(std::make_unique<Placement>(tensor, content, kernel.view.alignment, *memory_));
    tensors.back()->prepare(call.poison);
    structs.place(i, *tensors.back());
    add_zone(tensors.back()->zone());
  }
  Workspace workspace(static_cast<std::int64_t>(outcome.workspace_bytes), *memory_);
  workspace.prepare(call.poison);
  add_zone(workspace.zone());
  structs.launch.workspace = call.tracked ? nullptr : workspace.address();
  structs.launch.workspace_bytes = call.tracked ? 0 : outcome.workspace_bytes;
  TrackingAllocator allocator(*memory_, call.poison, call.refused);
  if (call.tracked) structs.launch.allocator = allocator.entries();

  const bool checks = request.operation != wire::Operation::run_unchecked;
  const bool runs = request.operation != wire::Operation::check_only;
  if ((!checks || entries.check()) && runs) entries.run(pack_.memory());
  if (outcome.kind == Outcome::Kind::crashed) return;  // the device is gone, and its memory with it

  allocator.finish(outcome);
  workspace.fetch();
  workspace.find_faults(outcome.faults);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    tensors[i]->fetch();
    if (is_output(call.tensors[i])) {
      outcome.wrote_nothing = outcome.wrote_nothing && tensors[i]->untouched();
      tensors[i]->gather(file_.data() + request.places[i]);
    }
    tensors[i]->find_faults(outcome.faults);
  }
  answer.outputs = true;
}

}  // namespace nbx::contracts::sandbox
