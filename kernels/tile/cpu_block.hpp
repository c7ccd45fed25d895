// The CPU back end: a phase is a loop over its items, a grid a loop over its blocks, in any order, by any number of
// threads. An answer that depends on the order is a race.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <thread>
#include <vector>

#include "kernels/tile/order.hpp"
#include "kernels/tile/tile.hpp"

namespace nbx::tile {

/// The memory of one thread's blocks, one block after the other. It starts with a content that depends on the order,
/// and then holds what the block before left, so that a read before a write gives another answer in another order.
class Arena {
 public:
  Arena(std::size_t bytes, nbx_order order) : bytes_(bytes) {
    if (bytes == 0) return;
    start_ = static_cast<std::byte*>(::operator new (bytes, std::align_val_t{tile_alignment}));
    std::memset(start_, order == NBX_FORWARD ? 0xFF : 0x4B, bytes);
  }
  ~Arena() { ::operator delete (start_, std::align_val_t{tile_alignment}); }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  std::byte* take(std::size_t bytes, std::size_t& used) const {
    if (bytes > bytes_ - used) {
      std::fprintf(stderr, "tile layer: a block takes more than its tile_bytes() of %zu bytes\n", bytes_);
      std::abort();
    }
    std::byte* const place = start_ + used;
    used += bytes;
    return place;
  }

 private:
  std::size_t bytes_;
  std::byte* start_ = nullptr;
};

class CpuBlock {
 public:
  static constexpr bool vectors = true;  // operations have a CPU form over whole rows

  CpuBlock(std::int64_t index, const Arena& arena, nbx_order items, std::uint64_t seed)
      : index_(index), arena_(arena), items_(items), seed_(seed + static_cast<std::uint64_t>(index) * 0x632BE5ABU) {}

  std::int64_t index() const { return index_; }
  bool in_order() const { return items_ == NBX_FORWARD; }

  template <class T>
  Tile<T> tile(int rows, int columns) {
    return {reinterpret_cast<T*>(arena_.take(tile_bytes<T>(rows, columns), used_)), padded(columns, column_group)};
  }

  template <class Item>
  void phase(std::int64_t n, const Item& item) {
    Order(items_, seed_++, n).visit(item);
  }

  /// Rows in the order, and the columns within each.
  template <class Prepare, class Item>
  void phase_rows(std::int64_t rows, std::int64_t columns, const Prepare& prepare, const Item& item) {
    const Order of_columns(items_, seed_++, columns);
    Order(items_, seed_++, rows).visit([&](std::int64_t r) {
      const auto row = prepare(r);
      of_columns.visit([&](std::int64_t c) { item(row, r, c); });
    });
  }

  /// A phase ends in one already.
  void barrier() {}

  template <class Prepare, class Predicate>
  bool any(std::int64_t rows, std::int64_t columns, const Prepare& prepare, const Predicate& predicate) {
    unsigned found = 0;
    for (std::int64_t r = 0; r < rows; ++r) {
      const auto row = prepare(r);
      for (std::int64_t c = 0; c < columns; ++c) found |= predicate(row, r, c) ? 1U : 0U;
    }
    return found != 0;
  }

 private:
  std::int64_t index_;
  const Arena& arena_;
  std::size_t used_ = 0;
  nbx_order items_;
  std::uint64_t seed_;
};

/// The limits of the architecture that the CPU pack imitates, sm_90, so that tiles are chosen and problems declined
/// alike. Returns nullptr: nothing is asked that could fail.
template <class Program>
const char* block_limits(BlockLimits& out) {
  out = {0, 227 * 1024, true};
  return nullptr;
}

/// Runs `blocks` blocks of the program. Returns nullptr: this back end does not fail.
template <class Program>
const char* launch(const Program& program, std::int64_t blocks, const nbx_launch& how) {
  const Order order(how.block_order, how.order_seed, blocks);
  const std::int64_t threads = how.threads < blocks ? how.threads : blocks;
  // Each thread goes through the whole order and runs the blocks that are its own.
  const auto work = [&](std::int64_t thread) {
    const Arena arena(program.tile_bytes(), how.block_order);
    std::int64_t turn = 0;
    order.visit([&](std::int64_t index) {
      if (threads > 1 && turn++ % threads != thread) return;
      CpuBlock block(index, arena, how.item_order, how.order_seed);
      program(block);
    });
  };
  std::vector<std::thread> team;
  for (std::int64_t thread = 1; thread < threads; ++thread) team.emplace_back(work, thread);
  if (blocks > 0) work(0);
  for (std::thread& member : team) member.join();
  return nullptr;
}

}  // namespace nbx::tile
