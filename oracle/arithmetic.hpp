// What a kernel declares of its arithmetic, in the oracle's words. The bound of an element follows from this alone.
#pragma once

#include <cstdint>

#include "oracle/format.hpp"

namespace nbx::oracle {

/// How one matrix product multiplies and adds. Fields that a unit does not name are not read by it.
struct Dot {
  enum class Unit : std::uint8_t {
    simt_f32,     // `chains` interleaved fp32 fma chains in rising k from +0, folded by a balanced tree
    any_order,    // additions in any order with roundoff u; products exact or rounded with u too
    fused_group,  // a matrix unit: `group` exact products and the sum so far, each cut toward zero to a multiple of
                  // 2^(e_max - kept_bits), added exactly, then cut toward zero to result_precision bits; groups chained
    grouped_f32,  // exact products; the `group` of them added first, then the sum so far, each addition to nearest fp32
    split_f16,  // fp32 operands in two parts of f16 on grouped_f32: x · 2^s = hi + 2^-11 lo, s by the largest element
                // of the operand's line, which comes to [2^14, 2^15); sums of hi·hi + 2^-11 · sums of (hi·lo + lo·hi),
                // to nearest, in stretches of `restart` terms
  };
  Unit unit = Unit::simt_f32;
  int chains = 1;
  double u = 0x1p-24;
  bool products_exact = false;
  Format operand = Format::f32;  // both operands are narrowed to it, to nearest, before they are multiplied
  int group = 16;
  int kept_bits = 25;
  int result_precision = 24;
  int exponent_floor = -133;          // the least e_max
  bool subnormals_as_normal = false;  // a fused group reads subnormal operands in a format where they are normal
  std::int64_t restart = 0;  // every so many terms the sum is added to an fp32 one, to nearest, and starts again from
                             // zero; 0: never
  bool operator==(const Dot&) const = default;
};

struct Arithmetic {
  enum class ScaleAt : std::uint8_t {
    score,  // one fp32 multiplication of the finished dot product
    query,  // q · scale in fp32, narrowed to the operand format, before the product
  };
  enum class Log2At : std::uint8_t {
    natural,     // p = exp(s - m)
    difference,  // p = exp2((s - m) · fp32(log2 e))
    score,       // scores are multiplied by fp32(log2 e) before the maximum
    direct,      // p = exp2(s - m): scores are exponents of two, see AttentionInput::base_two
    whole,  // p = exp2(dot · c - M), c = fp32(scale · fp32(log2 e)), M a whole number from dot · c of the maximum on
            // to less than 1 above; rescaling by exp2(M_old - M) is exact
  };
  enum class Normalise : std::uint8_t {
    output,      // o / l
    weights,     // p / l before P·V
    reciprocal,  // o · (1 / l)
  };
  enum class MaskedValue : std::uint8_t {
    inert,       // a non-finite value at a position of bias -inf shows nowhere
    propagates,  // it shows as 0 · value does
  };

  Dot qk, pv;
  ScaleAt scale_at = ScaleAt::score;
  Log2At log2_at = Log2At::natural;
  Normalise normalise = Normalise::output;
  MaskedValue masked_value = MaskedValue::inert;
  Format p_format = Format::f32;  // of the weights as P·V reads them; the row sum adds the fp32 ones
  Format output = Format::f32;
  double exp_ulp = 1;  // |exp or exp2 - exact| <= exp_ulp * max(ulp(exact), 2^-149)
  double log_ulp = 1;  // the whole of log(l), same unit
  double divide_ulp = .5;
  std::int64_t sum_depth = 1;  // the most additions that one weight passes through in the row sum
  std::int64_t rescales = 0;   // the most times that a running maximum can move within a row, and that partial sums of
                               // P·V are added up in fp32
  bool flush_to_zero = false;
  bool fixed_shift =
      false;                // a row that AttentionInput::fixed_shift names a shift for subtracts it: no maximum is kept
  std::int64_t merges = 0;  // the most results, each divided by its own sum, that are merged by their base-2 LSE
  double p_scale = 1;       // a power of two, by which weights are multiplied before they take p_format
  int scale_roundings = 0;  // of the factor of scores, before it multiplies them
  int value_roundings = 0;  // of o beside the normalisation
  bool operator==(const Arithmetic&) const = default;
};

}  // namespace nbx::oracle
