// The orders in which the CPU back end runs blocks of a grid and items of a phase.
#pragma once

#include <bit>
#include <cstdint>
#include <numeric>

#include "kernels/pack/nbx_pack.h"

namespace nbx::tile {

/// A permutation of 0 … n − 1 that takes no memory.
class Order {
 public:
  Order(nbx_order kind, std::uint64_t seed, std::int64_t n) : kind_(kind), seed_(seed), n_(n) {
    if (kind_ == NBX_STRIDED && n_ > 2) {
      // About the golden section of n, so that neighbours in time lie far apart. The product i · step stays below 2^63
      // for every n < 2^43.
      step_ = n_ < (std::int64_t{1} << 31) ? n_ - n_ * 382 / 1000 : (std::int64_t{1} << 20) + 7;
      while (std::gcd(step_, n_) != 1) ++step_;
    }
    if (kind_ == NBX_SHUFFLED && n_ > 1) {
      half_ = (static_cast<int>(std::bit_width(static_cast<std::uint64_t>(n_ - 1))) + 1) / 2;
    }
  }

  std::int64_t operator()(std::int64_t i) const {
    switch (kind_) {
      case NBX_REVERSE:
        return n_ - 1 - i;
      case NBX_STRIDED:
        return i * step_ % n_;
      case NBX_SHUFFLED:
        return shuffled(i);
      default:
        return i;
    }
  }

 private:
  static std::uint64_t mixed(std::uint64_t x) {  // the finaliser of SplitMix64
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
    return x ^ (x >> 31);
  }

  /// A Feistel network permutes the next power of four; places past n are walked over, fewer than four on average.
  std::int64_t shuffled(std::int64_t i) const {
    if (n_ < 2) return i;
    const std::uint64_t mask = (std::uint64_t{1} << half_) - 1;
    auto place = static_cast<std::uint64_t>(i);
    do {
      std::uint64_t left = place >> half_;
      std::uint64_t right = place & mask;
      for (std::uint64_t round = 1; round <= 4; ++round) {
        const std::uint64_t next = left ^ (mixed(right + round * 0x9E3779B97F4A7C15ULL + seed_) & mask);
        left = right;
        right = next;
      }
      place = left << half_ | right;
    } while (place >= static_cast<std::uint64_t>(n_));
    return static_cast<std::int64_t>(place);
  }

  nbx_order kind_;
  std::uint64_t seed_;
  std::int64_t n_;
  std::int64_t step_ = 1;
  int half_ = 1;
};

}  // namespace nbx::tile
