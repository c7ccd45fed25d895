// The allocator of a tracked run: each buffer in guarded memory of its own, with its name, its bytes and its time.
#pragma once

#include <memory>
#include <vector>

#include "contracts/child/placement.hpp"

namespace nbx::contracts::sandbox {

class TrackingAllocator {
 public:
  /// `refused`: the number of the buffer that is not given; -1: none.
  TrackingAllocator(Memory& memory, Poison poison, std::int64_t refused);
  TrackingAllocator(const TrackingAllocator&) = delete;
  TrackingAllocator& operator=(const TrackingAllocator&) = delete;

  nbx_allocator* entries() { return &entries_.table; }
  /// After the run: buffers and what was wrong with them. Memory is kept until then, as the device may still use it.
  void finish(Outcome& outcome);

 private:
  static void* allocate(nbx_allocator* self, const char* name, std::uint64_t bytes);
  static void release(nbx_allocator* self, void* memory);

  struct Entries {
    nbx_allocator table;  // first: the entries get its address
    TrackingAllocator* owner;
  };
  struct Buffer {
    BufferUse use;
    std::unique_ptr<Workspace> memory;
  };

  Entries entries_;
  Memory& memory_;
  Poison poison_;
  std::int64_t refused_, asked_ = 0, time_ = 0;
  std::vector<Buffer> buffers_;
};

}  // namespace nbx::contracts::sandbox
