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
/// Of the 16 or 8 low bits alone.
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

/// The hash over all 2^32 floats and over every sampled_step-th one, from the first.
struct RecordedHash {
  const char* name;
  std::uint64_t all;
  std::uint64_t sampled;
};

inline constexpr std::uint64_t all_floats = std::uint64_t{1} << 32;
inline constexpr std::uint32_t sampled_step = 4099;
inline constexpr std::uint64_t sampled_floats = all_floats / sampled_step;

/// visit(function, recorded) for each function. `sampled` is what g++ 12 and clang 14 gave for x86-64
/// and its levels 3 and 4; `all` is clang's for level 4. After a change that is meant, take the new ones from
/// the failures of functions_test.cpp and sweep/sweep_test.cpp.
template <class Visitor>
void for_each_hashed_function(Visitor visit) {
  visit(Exp2{}, RecordedHash{"exp2", 0x6223B05F21148A50U, 0x62B332D551C31703U});
  visit(Exp{}, RecordedHash{"exp", 0xEFA051D67871D256U, 0x0468D4581A55286EU});
  visit(Log2{}, RecordedHash{"log2", 0xE68354CED39FC3A5U, 0x6D7C54E10258F91FU});
  visit(Log{}, RecordedHash{"log", 0x55D14F35A48A40B8U, 0xB769A87837180E01U});
  visit(Encode<tile::f16>{}, RecordedHash{"encode f16", 0x823CF6141E57BE70U, 0xDE635B02BA6D3272U});
  visit(Encode<tile::bf16>{}, RecordedHash{"encode bf16", 0x2B1BBBADB852024AU, 0xEFF80541FDB30978U});
  visit(Encode<tile::e4m3>{}, RecordedHash{"encode e4m3", 0x436E593BA864EBFCU, 0xCE03451CB4080175U});
  visit(Encode<tile::e5m2>{}, RecordedHash{"encode e5m2", 0x601D90A880DF62D9U, 0x97C2653295C02519U});
  visit(Decode<tile::f16>{}, RecordedHash{"decode f16", 0x73B4F2BF5D662408U, 0x0C2F3B81DD20E999U});
  visit(Decode<tile::bf16>{}, RecordedHash{"decode bf16", 0xD386207104203BA4U, 0x1AF68994073CE19CU});
  visit(Decode<tile::e4m3>{}, RecordedHash{"decode e4m3", 0x92376C171CB67930U, 0xF713A70048CCDCFFU});
  visit(Decode<tile::e5m2>{}, RecordedHash{"decode e5m2", 0xC9B47F2BB5BF99AFU, 0x7B95BA89F26694C8U});
}

}  // namespace nbx::tests
