#include "contracts/child/guarded_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <new>

#include "contracts/child/tensor_layout.hpp"

namespace nbx::contracts::sandbox {
namespace {

constexpr std::int64_t keep_at_most = std::int64_t{512} << 20;  // bytes of spare mappings
constexpr std::size_t keep_count = 512;

std::byte* reserve(std::int64_t bytes) {
  void* const memory =
      mmap(nullptr, static_cast<std::size_t>(bytes), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  return static_cast<std::byte*>(memory);
}

std::int64_t round_up(std::int64_t bytes, std::int64_t unit) { return (bytes + unit - 1) / unit * unit; }

}  // namespace

/// [no access][room, whole pages][no access]
struct HostMemory::Arena {
  std::byte* mapping;
  std::byte* room;
  std::int64_t room_bytes;

  explicit Arena(std::int64_t bytes)
      : mapping(reserve(bytes + 2 * no_access_bytes)), room(mapping + no_access_bytes), room_bytes(bytes) {
    if (mprotect(room, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE) != 0) {
      munmap(mapping, static_cast<std::size_t>(bytes + 2 * no_access_bytes));
      throw std::bad_alloc();
    }
    if (bytes > sparse_above) no_huge_pages(room, bytes);
  }
  ~Arena() { munmap(mapping, static_cast<std::size_t>(room_bytes + 2 * no_access_bytes)); }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
};

HostMemory::HostMemory() : page_bytes_(sysconf(_SC_PAGESIZE)) {}
HostMemory::~HostMemory() = default;

Block HostMemory::take(std::int64_t bytes, std::size_t alignment) {
  const std::int64_t room_bytes =
      round_up(guard_bytes + round_up(bytes, static_cast<std::int64_t>(alignment)), page_bytes_);
  const auto fits = [&](const std::unique_ptr<Arena>& arena) { return arena->room_bytes == room_bytes; };
  const auto spare = std::find_if(spare_.begin(), spare_.end(), fits);
  if (spare != spare_.end()) {
    spare_bytes_ -= room_bytes;
    used_.splice(used_.begin(), spare_, spare);
  } else {
    used_.push_front(std::make_unique<Arena>(room_bytes));
  }
  Arena& arena = *used_.front();
  Block block;
  block.room_begin = arena.room;
  block.room_end = arena.room + room_bytes;
  block.storage = block.room_end - round_up(bytes, static_cast<std::int64_t>(alignment));
  block.bytes = bytes;
  block.kernel_storage = block.storage;
  block.owner = &arena;
  return block;
}

void HostMemory::give(const Block& block) {
  const auto owns = [&](const std::unique_ptr<Arena>& arena) { return arena.get() == block.owner; };
  const auto arena = std::find_if(used_.begin(), used_.end(), owns);
  if (arena == used_.end()) std::abort();  // given twice, or not ours: the harness itself is broken
  if ((*arena)->room_bytes > sparse_above) {
    used_.erase(arena);
    return;
  }
  spare_bytes_ += (*arena)->room_bytes;
  spare_.splice(spare_.begin(), used_, arena);
  trim();
}

void HostMemory::trim() {
  while (spare_bytes_ > keep_at_most || spare_.size() > keep_count) {
    spare_bytes_ -= spare_.back()->room_bytes;
    spare_.pop_back();
  }
}

void no_huge_pages(std::byte* memory, std::int64_t bytes) {
  // A kernel of the operating system without huge pages refuses, and needs no advice.
  static_cast<void>(madvise(memory, static_cast<std::size_t>(bytes), MADV_NOHUGEPAGE));
}

void poison_zones(const Block& block, std::uint64_t word) {
  fill(block.room_begin, block.storage, word);
  fill(block.storage + block.bytes, block.room_end, word);
}

ZoneFaults check_zones(const Block& block, std::uint64_t word) {
  ZoneFaults faults;
  faults.before = find_changed(block.room_begin, block.storage, word);
  faults.before.first -= block.storage - block.room_begin;
  faults.after = find_changed(block.storage + block.bytes, block.room_end, word);
  return faults;
}

void* forbidden_address(std::size_t tensor) {
  constexpr std::int64_t each = std::int64_t{forbidden_bytes};
  constexpr std::int64_t tensors = 64;
  static std::byte* const region = reserve(each * tensors);
  return region + each * static_cast<std::int64_t>(tensor % tensors);
}

}  // namespace nbx::contracts::sandbox
