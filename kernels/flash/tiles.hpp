// How high a tile of queries is, and how wide one of keys.
#pragma once

#include <bit>
#include <cstdint>
#include <string>

#include "kernels/tile/tile.hpp"

namespace nbx::flash {

/// max(the next power of two of D, 16).
constexpr std::int64_t padded_head_dim(std::int64_t D) {
  const auto padded = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(D)));
  return padded < 16 ? 16 : padded;
}

/// Keys of a tile: of the true head dim alone, for every number of queries and every device, since it decides the bits.
constexpr int key_width(std::int64_t D) {
  const std::int64_t padded = padded_head_dim(D);
  return padded <= 128 ? 64 : (padded <= 256 ? 32 : 16);
}

inline constexpr int height_floor = 16;  // of both back ends
inline constexpr int height_most = 128;

/// The height that a problem asks for.
constexpr int asked_height(std::int64_t D, std::int64_t Tq, bool bf16_is_native) {
  const std::int64_t padded = padded_head_dim(D);
  if (Tq <= 16 || padded >= 512) return 16;
  if (padded == 256) return 32;
  if (padded == 128) return 64;
  return bf16_is_native ? 128 : 64;
}

/// What decides the height beside the problem.
struct HeightLimits {
  int ceiling = 0;  // of the device's profile; 0: none
  int fixed = 0;    // the height that the caller insists on; 0: none
  tile::BlockLimits block{};
};

struct HeightChoice {
  int height = 0;           // 0: nothing fits
  std::uint64_t bytes = 0;  // of shared memory at that height; at the lowest one where nothing fits
  std::string reason;       // "64 for D = 128, halved to 32: 231,424 of 232,448 bytes of shared memory"
};

/// `dynamic_bytes(height)`: the shared memory that a block of that height takes beside the static.
template <class Bytes>
HeightChoice choose_height(std::int64_t D, std::int64_t Tq, const HeightLimits& limits, const Bytes& dynamic_bytes) {
  const auto all_bytes = [&](int height) { return limits.block.static_bytes + dynamic_bytes(height); };
  HeightChoice choice;
  if (limits.fixed != 0) {
    choice.height = limits.fixed;
    choice.reason = std::to_string(choice.height) + ", as block_rows says";
    choice.bytes = all_bytes(choice.height);
    if (choice.bytes > limits.block.most_bytes) choice.height = 0;
    return choice;
  }
  choice.height = asked_height(D, Tq, limits.block.bf16_is_native);
  choice.reason = std::to_string(choice.height) + " for Tq = " + std::to_string(Tq) + ", D = " + std::to_string(D);
  if (limits.ceiling != 0 && limits.ceiling < choice.height) {
    choice.height = limits.ceiling;
    choice.reason += ", lowered to the ceiling " + std::to_string(limits.ceiling);
    if (limits.ceiling < height_floor) {
      choice.height = height_floor;
      choice.reason += ", which lies below the floor " + std::to_string(height_floor) + " and yields to it";
    }
  }
  choice.bytes = all_bytes(choice.height);
  while (choice.bytes > limits.block.most_bytes && choice.height > height_floor) {
    choice.height = choice.height / 2 < height_floor ? height_floor : choice.height / 2;
    choice.bytes = all_bytes(choice.height);
    choice.reason += ", halved to " + std::to_string(choice.height);
  }
  choice.reason += ": " + std::to_string(choice.bytes) + " of " + std::to_string(limits.block.most_bytes) +
                   " bytes of shared memory";
  if (choice.bytes > limits.block.most_bytes) choice.height = 0;
  return choice;
}

}  // namespace nbx::flash
