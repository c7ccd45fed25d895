// The orders in which the CPU back end runs blocks of a grid and items of a phase.
#pragma once

#include <cstdint>
#include <numeric>

#include "kernels/pack/nbx_pack.h"

namespace nbx::tile {

/// A permutation of 0 … n − 1 that takes no memory.
class Order {
 public:
  Order(nbx_order kind, std::uint64_t seed, std::int64_t n) : kind_(kind), n_(n) {
    if (n_ < 2) return;
    if (kind_ == NBX_STRIDED) step_ = coprime(n_ - n_ / 1000 * 382 - n_ % 1000 * 382 / 1000);
    if (kind_ == NBX_SHUFFLED) {
      start_ = static_cast<std::int64_t>(mixed(seed) % static_cast<std::uint64_t>(n_));
      step_ = coprime(1 + static_cast<std::int64_t>(mixed(seed + 1) % static_cast<std::uint64_t>(n_)));
    }
  }

  /// Calls f with each place once, in the order. Strided: multiples of about the golden section of n, modulo n.
  /// Shuffled: an arithmetic progression modulo n whose start and step come from the seed, so that any two places come
  /// in either order under some seed.
  template <class F>
  void visit(const F& f) const {
    switch (kind_) {
      case NBX_FORWARD:
        for (std::int64_t i = 0; i < n_; ++i) f(i);
        return;
      case NBX_REVERSE:
        for (std::int64_t i = n_; i-- > 0;) f(i);
        return;
      default:
        for (std::int64_t i = 0, place = start_; i < n_; ++i) {
          f(place);
          place += step_;
          if (place >= n_) place -= n_;
        }
    }
  }

 private:
  static std::uint64_t mixed(std::uint64_t x) {  // SplitMix64
    x += 0x9E3779B97F4A7C15ULL;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
    return x ^ (x >> 31);
  }

  /// The least number from `from` on that has no factor in common with n, modulo n.
  std::int64_t coprime(std::int64_t from) const {
    while (std::gcd(from, n_) != 1) ++from;
    return from % n_;
  }

  nbx_order kind_;
  std::int64_t n_;
  std::int64_t start_ = 0, step_ = 1;
};

}  // namespace nbx::tile
