#include "contracts/child/device_memory.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <stdexcept>

#include "contracts/child/tensor_layout.hpp"

namespace nbx::contracts::sandbox {
namespace {

constexpr std::int64_t keep_at_most = std::int64_t{2} << 30;  // bytes of spare allocations
constexpr std::size_t keep_count = 256;
/// Devices allocate in units of at least this, so that every kernel's alignment holds at its start.
constexpr std::int64_t device_alignment = 256;

std::int64_t round_up(std::int64_t bytes, std::int64_t unit) { return (bytes + unit - 1) / unit * unit; }

}  // namespace

/// The same number of bytes on the device and, reserved only where touched, on the host.
struct DeviceMemory::Allocation {
  const nbx_memory& functions;
  std::int64_t bytes;
  std::byte* host = nullptr;
  std::byte* device = nullptr;

  Allocation(const nbx_memory& of, std::int64_t size) : functions(of), bytes(size) {
    char message[1024] = {};
    void* memory = nullptr;
    const nbx_status status =
        of.allocate(static_cast<std::uint64_t>(size), of.can_guard != 0 ? 1 : 0, &memory, message, sizeof message - 1);
    if (status == NBX_OUT_OF_MEMORY) throw std::bad_alloc();
    if (status != NBX_OK || memory == nullptr) {
      throw DeviceFailure(fmt::format("the pack's allocate({}): status {}: {}", size, status, message));
    }
    device = static_cast<std::byte*>(memory);
    void* const mapped = mmap(nullptr, static_cast<std::size_t>(size), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) {
      of.release(memory);
      throw std::bad_alloc();
    }
    host = static_cast<std::byte*>(mapped);
    if (size > sparse_above) no_huge_pages(host, size);
  }
  ~Allocation() {
    functions.release(device);
    munmap(host, static_cast<std::size_t>(bytes));
  }
  Allocation(const Allocation&) = delete;
  Allocation& operator=(const Allocation&) = delete;
};

DeviceMemory::DeviceMemory(const nbx_memory& functions) : functions_(functions) {}
DeviceMemory::~DeviceMemory() = default;

Block DeviceMemory::take(std::int64_t bytes, std::size_t alignment) {
  const std::int64_t unit = static_cast<std::int64_t>(alignment);
  // Whole units of the device, so that the storage stays aligned where it is pushed to the end.
  const std::int64_t room_bytes =
      round_up(guard_bytes + round_up(bytes, unit) + (functions_.can_guard != 0 ? 0 : guard_bytes),
               std::max(device_alignment, unit));
  const auto fits = [&](const std::unique_ptr<Allocation>& allocation) { return allocation->bytes == room_bytes; };
  const auto spare = std::find_if(spare_.begin(), spare_.end(), fits);
  if (spare != spare_.end()) {
    spare_bytes_ -= room_bytes;
    used_.splice(used_.begin(), spare_, spare);
  } else {
    used_.push_front(std::make_unique<Allocation>(functions_, room_bytes));
  }
  Allocation& allocation = *used_.front();
  Block block;
  block.room_begin = allocation.host;
  block.room_end = allocation.host + room_bytes;
  const std::int64_t start =
      functions_.can_guard != 0 ? room_bytes - round_up(bytes, unit) : round_up(guard_bytes, unit);
  block.storage = allocation.host + start;
  block.bytes = bytes;
  block.kernel_storage = allocation.device + start;
  block.owner = &allocation;
  return block;
}

void DeviceMemory::give(const Block& block) {
  const auto owns = [&](const std::unique_ptr<Allocation>& allocation) { return allocation.get() == block.owner; };
  const auto allocation = std::find_if(used_.begin(), used_.end(), owns);
  if (allocation == used_.end()) std::abort();  // given twice, or not ours: the harness itself is broken
  if ((*allocation)->bytes > sparse_above) {
    used_.erase(allocation);
    return;
  }
  spare_bytes_ += (*allocation)->bytes;
  spare_.splice(spare_.begin(), used_, allocation);
  trim();
}

void DeviceMemory::trim() {
  while (spare_bytes_ > keep_at_most || spare_.size() > keep_count) {
    spare_bytes_ -= spare_.back()->bytes;
    spare_.pop_back();
  }
}

void DeviceMemory::to_kernel(const Block& block, const std::byte* begin, const std::byte* end) {
  if (begin == end) return;
  std::byte* const device = static_cast<std::byte*>(block.kernel_storage) + (begin - block.storage);
  const nbx_status status = functions_.copy_in(device, begin, static_cast<std::uint64_t>(end - begin));
  if (status != NBX_OK) throw DeviceFailure(fmt::format("the pack's copy_in: status {}", status));
}

void DeviceMemory::from_kernel(const Block& block, std::byte* begin, std::byte* end) {
  if (begin == end) return;
  const std::byte* const device = static_cast<const std::byte*>(block.kernel_storage) + (begin - block.storage);
  const nbx_status status = functions_.copy_out(begin, device, static_cast<std::uint64_t>(end - begin));
  if (status != NBX_OK) throw DeviceFailure(fmt::format("the pack's copy_out: status {}", status));
}

}  // namespace nbx::contracts::sandbox
