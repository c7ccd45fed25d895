// The error of one dot product under a declared unit: |computed - exact| <= sum over its terms of growth · |a||b|, plus
// an absolute part for underflow.
#pragma once

#include <cstdint>
#include <vector>

#include "oracle/arithmetic.hpp"

namespace nbx::oracle {

struct DotError {
  /// growth[r], r = 1 … terms, rising in r. In a known order: the relative error of a term behind which r - 1 terms of
  /// the product follow. `uniform`: of every term of a product of r terms.
  std::vector<double> growth;
  bool uniform = false;
  /// Of each term, whatever its size.
  double absolute_per_term = 0;
  /// Of each term, relative to what it would be with its operand at the operand format's smallest normal, where an
  /// operand may be subnormal: a fused group takes its exponent as if it were normal.
  double of_subnormal = 0;
  /// Of each term, relative to the product of powers of two above the largest elements of both its lines.
  double of_largest = 0;
};

/// For products of up to `terms` terms. `extra` fp32 additions to nearest follow for each term.
DotError dot_error(const Dot& dot, std::int64_t terms, std::int64_t extra, bool flush_to_zero);

/// (1 + a)(1 + b) - 1 without cancellation.
inline double compose(double a, double b) { return a + b + a * b; }

/// (1 + u)^n - 1 <= e^(n u) - 1, rounded up.
double compounded(double u, std::int64_t n);

}  // namespace nbx::oracle
