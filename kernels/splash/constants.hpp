// The window of fixed-m splash attention.
//
// With N keys, |v| ≤ Vmax and z ≤ U for every score of a block, the shift m = ⌈U⌉ − C gives z − m ≤ C, so that the sum
// of weights is at most N·2^C and |o| ≤ Vmax·N·2^C ≤ 2^127. z ≥ −U gives z − m ≥ C − 2⌈U⌉ ≥ C − 2·gate ≥ −125: no
// weight leaves the normal range.
#pragma once

#include <cstdint>

#include "kernels/tile/functions.hpp"

namespace nbx::splash {

struct Window {
  int C, W, gate;
};

/// ⌈log2 n⌉ of n ≥ 1.
constexpr int ceil_log2(std::int64_t n) {
  int bits = 0;
  while (bits < 62 && (std::int64_t{1} << bits) < n) ++bits;
  return bits;
}

/// ⌈log2 x⌉ of a positive finite x, at least 0.
inline int ceil_log2_at_least_0(float x) {
  int bits = 0;
  for (float power = 1; power < x; power *= 2) ++bits;
  return bits;
}

/// For at least one key and a positive finite v_max.
inline Window window(std::int64_t keys, float v_max) {
  const int C = 127 - ceil_log2(keys) - ceil_log2_at_least_0(v_max);
  const int W = C + 125;
  return {C, W, W / 2};
}

/// What a squared norm of D components, summed by the tile layer, is multiplied by so that it is no less than the exact
/// one: a term passes a subtraction and a product, each off by 2^-24, and at most D additions.
NBX_FUNCTION constexpr float norm_factor(std::int64_t D) { return 1.0F + static_cast<float>(D + 8) * 0x1p-23F; }
/// And what is added to it: D products that underflowed.
inline constexpr float norm_underflow = 0x1p-130F;

/// The largest relative error of a score, and of q·k̄ beside it: twice that of a chain of D fma.
NBX_FUNCTION constexpr float score_error(std::int64_t D) { return static_cast<float>(D + 1) * 0x1p-23F; }

/// The smallest integer n ≥ 0 with n² ≥ square, at most `most`.
NBX_FUNCTION int ceil_root(float square, int most) {
  int n = 0;
  while (n < most && static_cast<float>(n * n) < square) ++n;
  return n;
}

}  // namespace nbx::splash
