// A straightforward attention kernel in emulated fp32, one way or another of doing what an Arithmetic declares. It
// shares nothing with kernels/, so that bounds can be held against arithmetic that is none of the project's own.
#pragma once

#include <cstdint>
#include <vector>

#include "oracle/reference.hpp"

namespace nbx::oracle::testing {

struct Emulation {
  Arithmetic arithmetic;
  std::int64_t tile = 0;   // keys of a tile with a running maximum; 0: one pass over all keys
  std::uint64_t seed = 1;  // the order of any_order, and which way exp, exp2 and log err
};

/// Declares what `emulation` does for `keys` keys: its arithmetic with the depth of its sum and its rescales.
Arithmetic declared(const Emulation& emulation, std::int64_t keys);

/// o, each element already of the output format, and lse.
std::vector<std::vector<double>> emulate(const AttentionInput& input, const Emulation& emulation);

}  // namespace nbx::oracle::testing
