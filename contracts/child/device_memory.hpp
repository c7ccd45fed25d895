// Memory of a pack's device, by the functions that the pack gives, with a host copy that the harness works on.
#pragma once

#include <list>
#include <memory>
#include <stdexcept>

#include "contracts/child/guarded_memory.hpp"

namespace nbx::contracts::sandbox {

/// A function of the pack failed: its device is not to be trusted any more.
struct DeviceFailure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Where the pack can guard, a storage ends where its allocation does, and the zone after is the slack alone; else both
/// zones are guard_bytes inside the allocation. Throws DeviceFailure.
class DeviceMemory final : public Memory {
 public:
  explicit DeviceMemory(const nbx_memory& functions);
  ~DeviceMemory() override;
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  Block take(std::int64_t bytes, std::size_t alignment) override;
  void give(const Block& block) override;
  void to_kernel(const Block& block, const std::byte* begin, const std::byte* end) override;
  void from_kernel(const Block& block, std::byte* begin, std::byte* end) override;
  std::int64_t fault_reach() const override { return 0; }

 private:
  struct Allocation;
  void trim();

  nbx_memory functions_;
  std::list<std::unique_ptr<Allocation>> used_, spare_;  // spare_: the one used last in front
  std::int64_t spare_bytes_ = 0;
};

}  // namespace nbx::contracts::sandbox
