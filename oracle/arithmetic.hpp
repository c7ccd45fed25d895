// What a kernel declares of its arithmetic, in the oracle's words. The bound of an element follows from this alone.
#pragma once

#include <cstdint>

#include "oracle/format.hpp"

namespace nbx::oracle {

struct Dot {
  enum class Unit : std::uint8_t {
    simt_f32,   // `chains` interleaved fp32 fma chains in rising k from +0, folded by a balanced tree
    any_order,  // additions in any order with roundoff u; products exact or rounded with u too
  };
  Unit unit = Unit::simt_f32;
  int chains = 1;
  double u = 0x1p-24;
  bool products_exact = false;
  Format operand = Format::f32;  // both operands are narrowed to it, to nearest, before they are multiplied
  bool operator==(const Dot&) const = default;
};

struct Arithmetic {
  enum class ScaleAt : std::uint8_t { score, query };
  enum class Log2At : std::uint8_t { natural, difference, score };
  enum class Normalise : std::uint8_t { output, weights, reciprocal };
  enum class MaskedValue : std::uint8_t { inert, propagates };

  Dot qk, pv;
  ScaleAt scale_at = ScaleAt::score;
  Log2At log2_at = Log2At::natural;
  Normalise normalise = Normalise::output;
  MaskedValue masked_value = MaskedValue::inert;
  Format p_format = Format::f32;
  Format output = Format::f32;
  double exp_ulp = 1;      // |exp or exp2 - exact| <= exp_ulp * max(ulp(exact), 2^-149)
  double log_ulp = 1;      // the whole of log(l), same unit
  double divide_ulp = .5;
  std::int64_t sum_depth = 1;  // the most additions that one weight passes through in the row sum
  std::int64_t rescales = 0;   // the most times that a running maximum can move within a row
  bool flush_to_zero = false;
  bool operator==(const Arithmetic&) const = default;
};

}  // namespace nbx::oracle
