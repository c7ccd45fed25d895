// A hash of a function's results over a range of floats that does not depend on the order of the sum: hosts, compilers,
// instruction sets and the device compare all 2^32 results by one number.
#pragma once

#include <cstdint>

#include "kernels/tile/functions.hpp"
#include "kernels/tile/number.hpp"

namespace nbx::tests {

// What is hashed: the bits that a float's bits are mapped to.
struct Exp2 {
  NBX_HOST_DEVICE std::uint32_t operator()(float x) const { return tile::bits_of(tile::exp2(x)); }
};
struct Exp {
  NBX_HOST_DEVICE std::uint32_t operator()(float x) const { return tile::bits_of(tile::exp(x)); }
};
struct Log2 {
  NBX_HOST_DEVICE std::uint32_t operator()(float x) const { return tile::bits_of(tile::log2(x)); }
};
struct Log {
  NBX_HOST_DEVICE std::uint32_t operator()(float x) const { return tile::bits_of(tile::log(x)); }
};
template <class Format>
struct Encode {
  NBX_HOST_DEVICE std::uint32_t operator()(float x) const { return tile::encode<Format>(x).bits; }
};
/// Of the 16 or 8 low bits alone: every code of the format, 2^16 or 2^24 times.
template <class Format>
struct Decode {
  NBX_HOST_DEVICE std::uint32_t operator()(float x) const {
    return tile::bits_of(tile::decode(Format{static_cast<typename Format::Bits>(tile::bits_of(x))}));
  }
};

/// The finaliser of splitmix64 (Steele, Lea and Flood, 2014).
NBX_HOST_DEVICE inline std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31);
}

template <class Function>
NBX_HOST_DEVICE std::uint64_t hash_of_result(Function function, std::uint32_t bits) {
  return mixed((static_cast<std::uint64_t>(bits) << 32) | function(tile::float_of(bits)));
}

/// Over `count` floats whose bits are first, first + step, …, modulo 2^32.
template <class Function>
std::uint64_t hash_of_range(Function function, std::uint32_t first, std::uint64_t count, std::uint32_t step = 1) {
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    sum += hash_of_result(function, first + static_cast<std::uint32_t>(i) * step);
  }
  return sum;
}

}  // namespace nbx::tests
