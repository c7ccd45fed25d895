// One tensor of a call, laid out in guarded memory for a run, and looked over after it.
#pragma once

#include <vector>

#include "contracts/child/guarded_memory.hpp"
#include "contracts/child/shared_file.hpp"
#include "contracts/child/tensor_layout.hpp"

namespace nbx::contracts::sandbox {

class Placement {
 public:
  /// Takes memory; `content` is the dense data of an in or in-out tensor, null for an output, and must outlive this.
  /// Throws std::invalid_argument where the layout is none, std::bad_alloc.
  Placement(const CallTensor& tensor, const std::byte* content, std::size_t alignment, Memory& memory);
  ~Placement();
  Placement(const Placement&) = delete;
  Placement& operator=(const Placement&) = delete;

  /// Poison, then the content by its strides. Throws std::invalid_argument where elements share a place and differ:
  /// no kernel could tell which of them was meant.
  void prepare(Poison poison);

  /// Dense outputs, after the run. `dense` may be the content itself.
  void gather(std::byte* dense) const;
  /// The elements still hold their content, or their poison.
  bool untouched() const;
  /// What changed that may not: an input, gaps, zones. Destroys the elements, so it comes last.
  void find_faults(std::vector<MemoryFault>& faults);

  /// Brings the kernel's writes back; nothing on the host. Before the three above.
  void fetch();

  DLTensor as_dlpack(DLDevice device, std::int64_t* shape, std::int64_t* strides) const;
  Zone zone() const;

 private:
  void report(std::vector<MemoryFault>& faults, MemoryFault::Kind kind, Difference found, std::int64_t base) const;

  const CallTensor& tensor_;
  TensorLayout layout_;
  std::vector<Window> windows_;
  const std::byte* content_;
  Memory& memory_;
  Block block_;
  std::uint64_t word_ = 0;
};

/// Scratch memory of a call: poisoned as fp32, guarded alike. Of a workspace above sparse_above only the first and the
/// last half of that are poisoned; what lies between is zero when mapped afresh.
class Workspace {
 public:
  Workspace(std::int64_t bytes, Memory& memory);
  ~Workspace();
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  void prepare(Poison poison);
  void fetch();
  void find_faults(std::vector<MemoryFault>& faults) const;
  void* address() const { return block_.kernel_storage; }
  Zone zone() const;

 private:
  Memory& memory_;
  Block block_;
  std::uint64_t word_ = 0;
};

}  // namespace nbx::contracts::sandbox
