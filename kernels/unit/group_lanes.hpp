// The fused group for several columns side by side, finite operands, in vectors of integers. The bits are those of
// group.hpp, which a test holds it to; elements with a NaN or an Inf go there.
#pragma once

#include "kernels/unit/group.hpp"

namespace nbx::unit {

// As many as one vector of this target holds.
#if defined(__AVX2__)
inline constexpr int lanes = 8;
#else
inline constexpr int lanes = 4;
#endif

using Ints = std::int32_t __attribute__((vector_size(4 * lanes)));
using Words = std::uint32_t __attribute__((vector_size(4 * lanes)));
using Floats = float __attribute__((vector_size(4 * lanes)));

NBX_FORCE_INLINE Ints load_ints(const std::int32_t* from) {
  Ints out;
  __builtin_memcpy(&out, from, sizeof out);
  return out;
}
NBX_FORCE_INLINE void store_ints(std::int32_t* to, Ints x) { __builtin_memcpy(to, &x, sizeof x); }
NBX_FORCE_INLINE Floats load_floats(const float* from) {
  Floats out;
  __builtin_memcpy(&out, from, sizeof out);
  return out;
}
NBX_FORCE_INLINE void store_floats(float* to, Floats x) { __builtin_memcpy(to, &x, sizeof x); }

NBX_FORCE_INLINE Ints smaller(Ints a, Ints b) { return a < b ? a : b; }
NBX_FORCE_INLINE Ints larger(Ints a, Ints b) { return a > b ? a : b; }
NBX_FORCE_INLINE Ints shifted_right(Ints x, Ints places) { return (Ints)((Words)x >> (Words)places); }

/// True where some lane is NaN or infinite.
NBX_FORCE_INLINE bool any_special(Floats x) {
  const Ints special = ((Ints)x & 0x7F800000) == 0x7F800000;
  std::uint64_t pair[lanes / 2];
  __builtin_memcpy(pair, &special, sizeof special);
  std::uint64_t any = 0;
  for (const std::uint64_t one : pair) any |= one;
  return any != 0;
}

/// Operands in parts: |x| = significand · 2^(exponent − fraction bits), sign 0 or −1.
struct Parts {
  Ints significand, exponent, sign;
};

NBX_FORCE_INLINE Parts parts(Floats x, OperandFormat format) {
  const Ints bits = (Ints)x;
  const Ints biased = (bits >> 23) & 0xFF;
  const Ints exponent = larger(biased, Ints{} + 1) - 127;
  const Ints whole = (bits & 0x7FFFFF) | ((biased != 0) & 0x800000);
  const Ints held = larger(exponent, Ints{} + format.least_exponent);
  const Ints significand = shifted_right(whole, smaller(held - exponent + (23 - format.fraction_bits), Ints{} + 31));
  return {significand, significand == 0 ? Ints{} + Operand::nothing : held, bits >> 31};
}

/// total · 2^exponent as `converted` has it. |total| < 2^32 is given as sign (0 or −1) and magnitude.
NBX_FORCE_INLINE Floats converted_lanes(Words magnitude, Ints sign, Ints exponent, int bits) {
  // Below 2^-149 first: a conversion of what is left is then exact in the subnormal range.
  const Ints below = larger(-149 - exponent, Ints{});
  const Words left = magnitude >> (Words)smaller(below, Ints{} + 31);
  const Ints place = exponent + below;
  // With the first dropped bit clear, rounding to nearest cuts; it is the highest set bit of left >> 24.
  const Words cut = left & ~(left >> 24);
  const Floats high = __builtin_convertvector((Ints)(cut >> 16), Floats);
  const Floats low = __builtin_convertvector((Ints)(cut & 0xFFFF), Floats);
  Words value = (Words)(high * 65536.0F + low);
  value &= ~((1U << (24 - bits)) - 1U);
  // Two factors, each a normal power of two. An intermediate that overflows is the result's own overflow.
  const Ints half = place >> 1;
  const Floats first = (Floats)((half + 127) << 23);
  const Floats second = (Floats)((place - half + 127) << 23);
  const Floats result = (Floats)value * first * second;
  return (Floats)((Ints)result | (sign & (result != 0.0F) & (Ints{} + INT32_MIN)));
}

/// Operands of one row of A, shared by all lanes; significands are raised by kept_bits − 2 · fraction bits.
struct RowOperands {
  const std::int32_t *significand, *exponent, *sign;
};
/// Operands of B: [k][lanes] each, `step` elements from one k to the next.
struct ColumnOperands {
  const std::int32_t *significand, *exponent, *sign;
  int step;
};

/// One group of group.length terms from k on. Needs 4 · length · 2^kept_bits + 2^(kept_bits + 1) ≤ 2^32.
NBX_FORCE_INLINE Floats fused_group_lanes(const Group& group, const RowOperands& a, const ColumnOperands& b, int k,
                                          Floats addend) {
  const Parts c = parts(addend, f32_operand);
  Ints most = larger(c.exponent, Ints{} + group.floor);
  for (int i = k; i < k + group.length; ++i) {
    most = larger(most, load_ints(b.exponent + i * b.step) + a.exponent[i]);
  }
  const int raised = group.kept_bits - f32_operand.fraction_bits;  // of c's significand, below 2^24
  const Ints c_raised = raised >= 0 ? c.significand << raised : c.significand >> -raised;
  const Ints c_cut = shifted_right(c_raised, smaller(most - c.exponent, Ints{} + 31));
  // Two sums, each of half the terms and so within 32 bits.
  Ints sum[2] = {(c_cut ^ c.sign) - c.sign, Ints{}};
  for (int i = k; i < k + group.length; i += 2) {
    for (int half = 0; half < 2; ++half) {
      const int at = i + half;
      const Ints product = load_ints(b.significand + at * b.step) * a.significand[at];
      const Ints places = (most - a.exponent[at]) - load_ints(b.exponent + at * b.step);
      const Ints term = shifted_right(product, smaller(places, Ints{} + 31));
      const Ints sign = load_ints(b.sign + at * b.step) ^ a.sign[at];
      sum[half] += (term ^ sign) - sign;
    }
  }
  // The sum may take 33 bits with its sign: the sign is that of the mean, rounded down.
  const Ints sign = ((sum[0] >> 1) + (sum[1] >> 1) + (sum[0] & sum[1] & 1)) >> 31;
  const Words total = (Words)sum[0] + (Words)sum[1];
  return converted_lanes((total ^ (Words)sign) - (Words)sign, sign, most - group.kept_bits, group.result_bits);
}

}  // namespace nbx::unit
