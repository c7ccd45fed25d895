// Where a mutant's fault lies: drawn from a number, among the places where it can matter.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "oracle/mutant.hpp"

namespace nbx::oracle {

/// SplitMix64 (Steele, Lea and Flood 2014), so that neighbouring positions draw unrelated places.
class Draw {
 public:
  Draw(std::uint64_t position, Mutant mutant) : state_(position * 64 + static_cast<std::uint64_t>(mutant)) {}

  /// first … last; first where that range is empty.
  std::int64_t between(std::int64_t first, std::int64_t last) {
    if (last <= first) return first;
    return first + static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(last - first + 1));
  }
  /// One of `values`, which is not empty.
  std::int64_t from(const std::vector<std::int64_t>& values) {
    return values[static_cast<std::size_t>(between(0, static_cast<std::int64_t>(values.size()) - 1))];
  }

 private:
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  std::uint64_t state_;
};

/// Keys of a tile: 64, or fewer so that two keys make two tiles.
inline std::int64_t tile_width(std::int64_t keys) {
  return std::max<std::int64_t>(1, std::min<std::int64_t>(64, (keys + 1) / 2));
}

inline std::vector<std::int64_t> places(const std::vector<bool>& marked) {
  std::vector<std::int64_t> found;
  for (std::size_t at = 0; at < marked.size(); ++at) {
    if (marked[at]) found.push_back(static_cast<std::int64_t>(at));
  }
  return found;
}

/// Which tiles hold a marked key.
inline std::vector<bool> seen_tiles(const std::vector<bool>& seen, std::int64_t tile) {
  std::vector<bool> tiles((seen.size() + static_cast<std::size_t>(tile) - 1) / static_cast<std::size_t>(tile), false);
  for (std::size_t key = 0; key < seen.size(); ++key) {
    if (seen[key]) tiles[key / static_cast<std::size_t>(tile)] = true;
  }
  return tiles;
}

inline std::vector<std::int64_t> without(std::vector<std::int64_t> values, std::int64_t value) {
  values.erase(std::remove(values.begin(), values.end(), value), values.end());
  return values;
}

}  // namespace nbx::oracle
