// What memory holds before a run, so that a read of it shows in the result and a write to it is found.
#pragma once

#include <cstddef>
#include <cstdint>

#include "contracts/call.hpp"

namespace nbx::contracts::sandbox {

/// Bytes of one element; throws std::invalid_argument unless it is 1, 2, 4 or 8.
std::size_t element_bytes(DLDataType dtype);

/// Eight bytes of poison: whole elements of `dtype`. The byte at address a is number a % 8 of the word, so that poison
/// has no phase to carry along: storage is always aligned to its element.
///   ones, zeros   every byte 0xFF, 0x00
///   nan           a quiet NaN of the format; integers: the smallest
///   large, larger a large and the largest finite value of the format; integers: a quarter of the largest, the largest
std::uint64_t poison_word(Poison kind, DLDataType dtype);

void fill(std::byte* begin, std::byte* end, std::uint64_t word);

/// Bytes in [begin, end) that differ from the poison: the first and how many. first is end - begin if none does.
struct Difference {
  std::int64_t first = 0;
  std::int64_t count = 0;
};
Difference find_changed(const std::byte* begin, const std::byte* end, std::uint64_t word);

/// The same against a copy.
Difference find_changed(const std::byte* begin, const std::byte* end, const std::byte* expected);

}  // namespace nbx::contracts::sandbox
