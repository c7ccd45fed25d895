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
    if (in_order()) {
      for (std::int64_t i = 0; i < n; ++i) item(i);
      return;
    }
    const Order order(items_, seed_++, n);
    for (std::int64_t i = 0; i < n; ++i) item(order(i));
  }

  template <class Prepare, class Item>
  void phase_rows(std::int64_t rows, std::int64_t columns, const Prepare& prepare, const Item& item) {
    if (in_order()) {
      for (std::int64_t r = 0; r < rows; ++r) {
        const auto row = prepare(r);
        for (std::int64_t c = 0; c < columns; ++c) item(row, r, c);
      }
      return;
    }
    const Order order(items_, seed_++, rows * columns);
    for (std::int64_t i = 0; i < rows * columns; ++i) {
      const std::int64_t place = order(i);
      item(prepare(place / columns), place / columns, place % columns);
    }
  }

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

/// Runs `blocks` blocks of the program. Returns nullptr: this back end does not fail.
template <class Program>
const char* launch(const Program& program, std::int64_t blocks, const nbx_launch& how) {
  const Order order(how.block_order, how.order_seed, blocks);
  const auto work = [&](std::int64_t first, std::int64_t step) {
    const Arena arena(program.tile_bytes(), how.block_order);
    for (std::int64_t i = first; i < blocks; i += step) {
      CpuBlock block(order(i), arena, how.item_order, how.order_seed);
      program(block);
    }
  };
  const std::int64_t threads = how.threads < blocks ? how.threads : blocks;
  if (threads <= 1) {
    work(0, 1);
    return nullptr;
  }
  std::vector<std::thread> team;
  for (std::int64_t t = 1; t < threads; ++t) team.emplace_back(work, t, threads);
  work(0, threads);
  for (std::thread& member : team) member.join();
  return nullptr;
}

}  // namespace nbx::tile
