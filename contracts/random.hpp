// Numbers drawn from a seed and a text, the same on every machine: integer operations and exact double arithmetic
// alone, since a logarithm from another libm would be another input.
#pragma once

#include <cstdint>
#include <string_view>

namespace nbx::contracts {

inline std::uint64_t mix(std::uint64_t x) {  // the finaliser of splitmix64
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

inline std::uint64_t hash_text(std::string_view text, std::uint64_t seed = 0) {
  std::uint64_t h = mix(seed);
  for (const char c : text) h = mix(h ^ static_cast<unsigned char>(c));
  return h;
}

class Random {
 public:
  Random(std::uint64_t seed, std::string_view stream) : state_(hash_text(stream, seed)) {}

  std::uint64_t bits() { return mix(state_++); }
  /// In [0, 1), a multiple of 2^-53.
  double unit() { return static_cast<double>(bits() >> 11) * 0x1p-53; }
  double uniform(double low, double high) { return low + (high - low) * unit(); }
  /// In [0, n).
  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(bits() % static_cast<std::uint64_t>(n)); }
  /// Mean 0, variance 1, |x| <= 6: the sum of twelve uniform numbers (Irwin-Hall), exact in double.
  double normal() {
    constexpr std::uint64_t every_second = 0x0000FFFF0000FFFFu;
    std::uint64_t sums = 0;  // two sums of 16-bit numbers, side by side
    for (int i = 0; i < 3; ++i) {
      const std::uint64_t b = bits();
      sums += (b & every_second) + (b >> 16 & every_second);
    }
    const std::uint64_t sum = (sums & 0xFFFFFFFFu) + (sums >> 32);
    // Each of the twelve is short of uniform by half a step on average.
    return (static_cast<double>(sum) * 0x1p-16 - 6) + 12 * 0x1p-17;
  }
  int sign() { return bits() & 1 ? 1 : -1; }

 private:
  std::uint64_t state_;
};

}  // namespace nbx::contracts
