// Memory for a storage with guard zones on both sides. On the host its ends are protected pages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>

#include "contracts/child/poison.hpp"

namespace nbx::contracts::sandbox {

/// Memory of one storage, as the harness reads and writes it, and where the kernel sees it.
///   [room_begin, storage)        the zone before, at least guard_bytes
///   [storage, storage + bytes)   the storage
///   [storage + bytes, room_end)  the zone after: the slack below the kernel's alignment up to a protected page, or
///                                guard_bytes where the device protects none
struct Block {
  std::byte* room_begin = nullptr;
  std::byte* storage = nullptr;
  std::byte* room_end = nullptr;
  std::int64_t bytes = 0;
  void* kernel_storage = nullptr;  // `storage` in the device's memory; the same on the host
  void* owner = nullptr;           // the memory's own
};

/// Bytes of the zones that no longer hold their poison: before relative to the end of that zone (negative), after
/// relative to the end of the storage.
struct ZoneFaults {
  Difference before, after;
};

class Memory {
 public:
  virtual ~Memory() = default;
  /// `alignment` is a power of two. Throws std::bad_alloc where there is no memory.
  virtual Block take(std::int64_t bytes, std::size_t alignment) = 0;
  virtual void give(const Block& block) = 0;
  /// [begin, end) of the block's room from the harness's side to the kernel's, and back. Nothing on the host.
  virtual void to_kernel(const Block& block, const std::byte* begin, const std::byte* end) = 0;
  virtual void from_kernel(const Block& block, std::byte* begin, std::byte* end) = 0;
  /// The addresses before and behind the storage that fault when touched, on the host: [first, room_begin) and
  /// [room_end, last).
  virtual std::int64_t fault_reach() const = 0;
};

/// Of sparse memory: a touched place takes a page, not two megabytes.
void no_huge_pages(std::byte* memory, std::int64_t bytes);

void poison_zones(const Block& block, std::uint64_t word);
ZoneFaults check_zones(const Block& block, std::uint64_t word);

/// Host memory. Mappings are kept for the next storage of the same number of pages, as mapping costs more than most
/// small calls; large ones are given back at once.
class HostMemory final : public Memory {
 public:
  HostMemory();
  ~HostMemory() override;
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;

  Block take(std::int64_t bytes, std::size_t alignment) override;
  void give(const Block& block) override;
  void to_kernel(const Block&, const std::byte*, const std::byte*) override {}
  void from_kernel(const Block&, std::byte*, std::byte*) override {}
  std::int64_t fault_reach() const override { return no_access_bytes; }

  /// Protected addresses on each side.
  static constexpr std::int64_t no_access_bytes = std::int64_t{1} << 20;

 private:
  struct Arena;
  void trim();

  std::list<std::unique_ptr<Arena>> used_, spare_;  // spare_: the one used last in front
  std::int64_t page_bytes_, spare_bytes_ = 0;
};

/// Addresses that no access may touch, for tensors of calls that may not read data. Reserved once, never freed.
void* forbidden_address(std::size_t tensor);
inline constexpr std::uint64_t forbidden_bytes = std::uint64_t{1} << 20;  // each

}  // namespace nbx::contracts::sandbox
