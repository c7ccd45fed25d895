#include "contracts/child/placement.hpp"

#include <fmt/format.h>

#include <cstring>
#include <stdexcept>

namespace nbx::contracts::sandbox {
namespace {

constexpr std::size_t workspace_alignment = 256;  // nbx_launch::workspace

Zone zone_of(const Block& block, std::int64_t reach, const std::string& called) {
  const auto number = [](const std::byte* address) { return reinterpret_cast<std::uintptr_t>(address); };
  Zone zone{};
  zone.first = number(block.room_begin) - static_cast<std::uint64_t>(reach);
  zone.storage = number(block.storage);
  zone.storage_end = number(block.storage) + static_cast<std::uint64_t>(block.bytes);
  zone.last = number(block.room_end) + static_cast<std::uint64_t>(reach);
  called.copy(zone.name, sizeof zone.name - 1);
  return zone;
}

/// Zones and windows, and in one piece where that is everything: each copy to a device has its price.
void send(Memory& memory, const Block& block, const std::vector<Window>& windows) {
  if (windows.size() == 1 && windows[0].begin == 0 && windows[0].end == block.bytes) {
    return memory.to_kernel(block, block.room_begin, block.room_end);
  }
  memory.to_kernel(block, block.room_begin, block.storage);
  for (const Window& window : windows) {
    memory.to_kernel(block, block.storage + window.begin, block.storage + window.end);
  }
  memory.to_kernel(block, block.storage + block.bytes, block.room_end);
}

void fetch_all(Memory& memory, const Block& block, const std::vector<Window>& windows) {
  if (windows.size() == 1 && windows[0].begin == 0 && windows[0].end == block.bytes) {
    return memory.from_kernel(block, block.room_begin, block.room_end);
  }
  memory.from_kernel(block, block.room_begin, block.storage);
  for (const Window& window : windows) {
    memory.from_kernel(block, block.storage + window.begin, block.storage + window.end);
  }
  memory.from_kernel(block, block.storage + block.bytes, block.room_end);
}

/// The parts of a workspace that are poisoned.
std::vector<Window> poisoned_parts(std::int64_t bytes) {
  if (bytes <= sparse_above) return {{0, bytes}};
  return {{0, sparse_above / 2}, {bytes - sparse_above / 2, bytes}};
}

}  // namespace

Placement::Placement(const CallTensor& tensor, const std::byte* content, std::size_t alignment, Memory& memory)
    : tensor_(tensor),
      layout_(tensor),
      windows_(layout_.windows()),
      content_(content),
      memory_(memory),
      block_(memory.take(layout_.span_bytes(), std::max(alignment, static_cast<std::size_t>(layout_.unit())))) {}

Placement::~Placement() { memory_.give(block_); }

void Placement::prepare(Poison poison) {
  word_ = poison_word(poison, tensor_.dtype);
  poison_zones(block_, word_);
  if (content_ == nullptr || !layout_.is_dense()) {
    for (const Window& window : windows_) fill(block_.storage + window.begin, block_.storage + window.end, word_);
  }
  if (content_ != nullptr) {
    layout_.scatter(content_, block_.storage);
    if (layout_.may_overlap() && layout_.changed(block_.storage, content_).count != 0) {
      throw std::invalid_argument(
          fmt::format("tensor {}: elements that share a place by their strides have different data", tensor_.name));
    }
  }
  send(memory_, block_, windows_);
}

void Placement::fetch() { fetch_all(memory_, block_, windows_); }

void Placement::gather(std::byte* dense) const { layout_.gather(block_.storage, dense); }

bool Placement::untouched() const {
  if (content_ != nullptr) return layout_.changed(block_.storage, content_).count == 0;
  return layout_.all_poison(block_.storage, word_);
}

void Placement::find_faults(std::vector<MemoryFault>& faults) {
  const std::int64_t element_0 = layout_.offset_bytes();
  if (tensor_.role == NBX_IN) {
    report(faults, MemoryFault::Kind::input_changed, layout_.changed(block_.storage, content_), 0);
  }
  const ZoneFaults zones = check_zones(block_, word_);
  report(faults, MemoryFault::Kind::guard_before, zones.before, -element_0);
  report(faults, MemoryFault::Kind::guard_after, zones.after, block_.bytes - element_0);
  if (layout_.is_dense()) return;
  // With the elements poisoned too, all that still differs is a gap.
  layout_.poison_elements(block_.storage, word_);
  Difference gaps;
  for (const Window& window : windows_) {
    const Difference here = find_changed(block_.storage + window.begin, block_.storage + window.end, word_);
    if (gaps.count == 0 && here.count != 0) gaps.first = window.begin + here.first;
    gaps.count += here.count;
  }
  report(faults, MemoryFault::Kind::gap, gaps, -element_0);
}

void Placement::report(std::vector<MemoryFault>& faults, MemoryFault::Kind kind, Difference found,
                       std::int64_t base) const {
  if (found.count != 0) faults.push_back({kind, tensor_.name, base + found.first, found.count});
}

DLTensor Placement::as_dlpack(DLDevice device, std::int64_t* shape, std::int64_t* strides) const {
  DLTensor tensor{};
  tensor.data = block_.kernel_storage;
  tensor.device = device;
  tensor.ndim = static_cast<std::int32_t>(tensor_.shape.size());
  tensor.dtype = tensor_.dtype;
  tensor.shape = shape;
  tensor.strides = strides;
  tensor.byte_offset = static_cast<std::uint64_t>(layout_.offset_bytes());
  return tensor;
}

Zone Placement::zone() const { return zone_of(block_, memory_.fault_reach(), tensor_.name); }

Workspace::Workspace(std::int64_t bytes, Memory& memory)
    : memory_(memory), block_(memory.take(bytes, workspace_alignment)) {}

Workspace::~Workspace() { memory_.give(block_); }

void Workspace::prepare(Poison poison) {
  word_ = poison_word(poison, {kDLFloat, 32, 1});
  poison_zones(block_, word_);
  const std::vector<Window> parts = poisoned_parts(block_.bytes);
  for (const Window& part : parts) fill(block_.storage + part.begin, block_.storage + part.end, word_);
  send(memory_, block_, parts);
}

void Workspace::fetch() { fetch_all(memory_, block_, {}); }

void Workspace::find_faults(std::vector<MemoryFault>& faults) const {
  const ZoneFaults zones = check_zones(block_, word_);
  const auto report = [&](Difference found, std::int64_t base) {
    if (found.count == 0) return;
    faults.push_back({MemoryFault::Kind::workspace_guard, "workspace", base + found.first, found.count});
  };
  report(zones.before, 0);
  report(zones.after, block_.bytes);
}

Zone Workspace::zone() const { return zone_of(block_, memory_.fault_reach(), "the workspace"); }

}  // namespace nbx::contracts::sandbox
