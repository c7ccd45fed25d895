#include "contracts/child/tracking_allocator.hpp"

#include <new>

namespace nbx::contracts::sandbox {

TrackingAllocator::TrackingAllocator(Memory& memory, Poison poison, std::int64_t refused)
    : entries_{{sizeof(nbx_allocator), allocate, release}, this}, memory_(memory), poison_(poison), refused_(refused) {}

void* TrackingAllocator::allocate(nbx_allocator* self, const char* name, std::uint64_t bytes) {
  TrackingAllocator& own = *reinterpret_cast<Entries*>(self)->owner;
  if (own.asked_++ == own.refused_) return nullptr;
  try {
    auto memory = std::make_unique<Workspace>(static_cast<std::int64_t>(bytes), own.memory_);
    memory->prepare(own.poison_);
    BufferUse use{name == nullptr ? "" : name, bytes, own.time_, -1};
    own.buffers_.push_back({std::move(use), std::move(memory)});
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
  ++own.time_;
  return own.buffers_.back().memory->address();
}

void TrackingAllocator::release(nbx_allocator* self, void* memory) {
  TrackingAllocator& own = *reinterpret_cast<Entries*>(self)->owner;
  for (Buffer& buffer : own.buffers_) {
    if (buffer.memory->address() != memory || buffer.use.freed >= 0) continue;
    buffer.use.freed = own.time_++;
    return;
  }
  // Released and never made: a buffer without a name, which no kernel declares.
  auto none = std::make_unique<Workspace>(0, own.memory_);
  BufferUse use{{}, 0, -1, own.time_++};
  own.buffers_.push_back({std::move(use), std::move(none)});
}

void TrackingAllocator::finish(Outcome& outcome) {
  for (Buffer& buffer : buffers_) {
    buffer.memory->fetch();
    buffer.memory->find_faults(outcome.faults);
    outcome.buffers.push_back(buffer.use);
  }
}

}  // namespace nbx::contracts::sandbox
