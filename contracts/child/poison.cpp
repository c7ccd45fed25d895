#include "contracts/child/poison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <stdexcept>

namespace nbx::contracts::sandbox {
namespace {

struct Patterns {
  std::uint64_t nan, large, larger;
};

Patterns integer_patterns(std::size_t bytes, bool is_signed) {
  const std::uint64_t all = bytes == 8 ? ~0ull : (1ull << (8 * bytes)) - 1;
  const std::uint64_t largest = is_signed ? all >> 1 : all;
  return {is_signed ? largest + 1 : all - 1, largest / 4, largest};
}

/// Bit patterns by the formats' definitions. large is about a quarter of the largest finite value.
Patterns patterns(DLDataType dtype, std::size_t bytes) {
  switch (dtype.code) {
    case kDLFloat:
      if (bytes == 2) return {0x7E2A, 0x73C0, 0x7BFF};              // binary16: NaN, 15872, 65504
      if (bytes == 4) return {0x7FC0002A, 0x7E967699, 0x7F7FFFFF};  // binary32: NaN, 1e38, 3.4e38
      return {0x7FF800000000002A, 0x7FC0000000000000, 0x7FEFFFFFFFFFFFFF};
    case kDLBfloat:
      return {0x7FEA, 0x7E96, 0x7F7F};  // bfloat16: NaN, 1e38, 3.4e38
    case kDLFloat8_e4m3fn:
      return {0x7F, 0x6E, 0x7E};  // NaN, 112, 448
    case kDLFloat8_e5m2:
      return {0x7E, 0x73, 0x7B};  // NaN, 14336, 57344
    case kDLUInt:
      return integer_patterns(bytes, false);
    default:
      return integer_patterns(bytes, true);
  }
}

std::uint64_t repeat(std::uint64_t element, std::size_t bytes) {
  std::uint64_t word = 0;
  for (std::size_t at = 0; at < 8; at += bytes) word |= element << (8 * at);
  return word;
}

/// The word as a load from an address with this remainder modulo 8 sees it, on a little-endian machine.
std::uint64_t at_phase(std::uint64_t word, const std::byte* address) {
  return std::rotr(word, static_cast<int>(8 * (reinterpret_cast<std::uintptr_t>(address) % 8)));
}
static_assert(std::endian::native == std::endian::little);

/// A copy of the poison, as long as memcmp likes it, for a start at any phase.
struct PoisonBlock {
  static constexpr std::size_t size = 512;
  std::byte bytes[size];
  explicit PoisonBlock(std::uint64_t word) {
    for (std::size_t at = 0; at < size; at += 8) std::memcpy(bytes + at, &word, 8);
  }
};

}  // namespace

std::size_t element_bytes(DLDataType dtype) {
  const unsigned bits = unsigned{dtype.bits} * dtype.lanes;
  if (bits != 8 && bits != 16 && bits != 32 && bits != 64) {
    throw std::invalid_argument(fmt::format("elements of {} bits x {} lanes are not 1, 2, 4 or 8 bytes",
                                            unsigned{dtype.bits}, unsigned{dtype.lanes}));
  }
  return bits / 8;
}

std::uint64_t poison_word(Poison kind, DLDataType dtype) {
  if (kind == Poison::ones) return ~0ull;
  if (kind == Poison::zeros) return 0;
  const std::size_t bytes = element_bytes({dtype.code, dtype.bits, 1});
  const Patterns known = patterns(dtype, bytes);
  return repeat(kind == Poison::nan ? known.nan : kind == Poison::large ? known.large : known.larger, bytes);
}

void fill(std::byte* begin, std::byte* end, std::uint64_t word) {
  const std::uint64_t seen = at_phase(word, begin);
  for (; end - begin >= 8; begin += 8) std::memcpy(begin, &seen, 8);
  std::memcpy(begin, &seen, static_cast<std::size_t>(end - begin));
}

Difference find_changed(const std::byte* begin, const std::byte* end, std::uint64_t word) {
  const PoisonBlock poison(at_phase(word, begin));
  Difference found{end - begin, 0};
  for (const std::byte* at = begin; at != end;) {
    const std::int64_t length = std::min<std::int64_t>(end - at, PoisonBlock::size);
    const Difference here = find_changed(at, at + length, poison.bytes);
    if (found.count == 0 && here.count != 0) found.first = at - begin + here.first;
    found.count += here.count;
    at += length;
  }
  return found;
}

Difference find_changed(const std::byte* begin, const std::byte* end, const std::byte* expected) {
  const std::int64_t length = end - begin;
  Difference found{length, 0};
  if (length == 0 || std::memcmp(begin, expected, static_cast<std::size_t>(length)) == 0) return found;
  for (std::int64_t at = 0; at < length; ++at) {
    if (begin[at] == expected[at]) continue;
    if (found.count == 0) found.first = at;
    ++found.count;
  }
  return found;
}

}  // namespace nbx::contracts::sandbox
