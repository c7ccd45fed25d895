// What splash attention computes, one decision a function. A variant, and a control, derives from it and hides what it
// does otherwise.
#pragma once

#include "kernels/pack/describe.hpp"
#include "kernels/pack/entries.hpp"
#include "kernels/splash/problem.hpp"
#include "kernels/tile/dot.hpp"
#include "kernels/tile/number.hpp"
#include "kernels/tile/reduce.hpp"

namespace nbx::splash {

/// A result as hardware with flush-to-zero leaves it: ±0 for a subnormal one.
template <bool Ftz>
NBX_FUNCTION float flushed(float x) {
  if constexpr (Ftz) {
    const bool subnormal = (tile::bits_of(x) & 0x7F800000U) == 0;
    return tile::float_of(tile::select(subnormal, tile::bits_of(x) & 0x80000000U, tile::bits_of(x)));
  } else {
    return x;
  }
}

/// One chain of fp32 fma whose operands and results are flushed.
struct FlushedSimtF32 {
  NBX_FUNCTION static float multiply_add(float a, float b, float sum) {
    return flushed<true>(tile::fma(flushed<true>(a), flushed<true>(b), sum));
  }
};

template <bool Ftz>
struct UnitOf {
  using Unit = tile::SimtF32;
};
template <>
struct UnitOf<true> {
  using Unit = FlushedSimtF32;
};

/// Where the decision between fixed and online is taken.
enum class Way : std::uint8_t { online, flagged, pinned };

struct Rules {
  using Max = tile::Max;
  using Sum = tile::Sum;

  // --- metadata ---
  NBX_FUNCTION static float mean(float sum, float keys) { return tile::divide(sum, keys); }
  /// Component of what the key's norm is of: the shift is centred, so are the norms.
  NBX_FUNCTION static float centred(float k, float mean) { return k - mean; }
  /// No less than the exact squared norm.
  NBX_FUNCTION static float norm2(float sum, std::int64_t D) { return (sum + norm_underflow) * norm_factor(D); }
  /// The keys that metadata looks at.
  NBX_FUNCTION static std::int64_t real_keys(std::int64_t Tk) { return Tk; }
  static Window window(std::int64_t keys, float v_max) { return splash::window(keys, v_max); }
  /// U² of a block.
  NBX_FUNCTION static float bound2(float q2, float k2) { return q2 * k2 * (1.0F + 0x1p-22F); }
  NBX_FUNCTION static bool below_gate(float bound2, int gate) { return bound2 <= static_cast<float>(gate * gate); }
  NBX_FUNCTION static bool values_fit(float v_abs, float v_max) { return v_abs <= v_max; }
  /// Scores, which cancel against q·k̄, are off by at most half in all: γ ‖q‖ max ‖k_raw‖ ≤ ½, squared.
  NBX_FUNCTION static bool scores_known(float q2, float raw_k2, std::int64_t D) {
    const float error = score_error(D);
    return q2 * raw_k2 * (error * error) * (1.0F + 0x1p-20F) <= 0.25F;
  }
  /// m_B of an eligible block: ⌈U⌉ − C.
  NBX_FUNCTION static float shift(float bound2, int gate, int C) {
    return static_cast<float>(ceil_root(bound2, gate) - C);
  }
  /// 1 where a block of this flag keeps the whole batch from the uniform way.
  NBX_FUNCTION static float falls_back(float flag) { return 1.0F - flag; }
  /// The index of the batch entry whose flags block b looks at.
  NBX_FUNCTION static std::int64_t flags_of(std::int64_t b) { return b; }

  // --- attention ---
  NBX_FUNCTION static std::int64_t kv_head(std::int64_t head, std::int64_t group) { return head / group; }
  static std::int64_t keys(std::int64_t Tk) { return Tk; }
  /// m_i = m_B + q_i·k̄.
  NBX_FUNCTION static float row_shift(float shift, float q_mean) { return shift + q_mean; }
  NBX_FUNCTION static bool is_fixed(float flag) { return flag == 1.0F; }
  NBX_FUNCTION static float weight(float distance) { return tile::exp2(distance); }
  template <class T>
  NBX_FUNCTION static float narrowed(float weight) {
    return tile::narrow<T>(weight);
  }
  /// What partial sums are multiplied by when the maximum moves. `before` may be −inf: then they are 0.
  NBX_FUNCTION static float rescale(float before, float after) {
    return tile::select(after == Max::identity, 1.0F, tile::exp2(before - after));
  }
  /// o / l; 0 where nothing was added.
  NBX_FUNCTION static float quotient(float sum, float l) { return tile::select(l == 0.0F, 0.0F, tile::divide(sum, l)); }
};

}  // namespace nbx::splash
