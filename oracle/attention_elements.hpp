// From a block's row to the elements of o and LSE: values, radii, bounds and classes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "oracle/attention_block.hpp"
#include "oracle/ball.hpp"
#include "oracle/reference.hpp"

namespace nbx::oracle {

/// Writes row `row` ((b·H + h)·Tq + i) of both outputs from row r of the block.
void write_row(const AttentionBlock& block, std::int64_t r, bool propagates, std::int64_t row, Evaluation::Output& o,
               Evaluation::Output& lse);

/// Everything behind P·V: what an error of its sum becomes in an element of o. All elements of a row share it.
struct OutputErrors {
  double per_sum_error = 0, per_magnitude = 0, constant = 0;  // before the final operations
  double final_relative = 0, final_absolute = 0;
  std::optional<HalfUlp> narrows;
  double largest = 0;  // finite number of the output's format, where results saturate

  /// `keys` visible to the row, l = row_sum.
  OutputErrors(const ErrorModel& model, const RowErrors& errors, double row_sum, double inflation, std::int64_t keys);

  /// bound[i] of an element of at most magnitude[i] whose P·V is off by at most sum_error[i].
  void bounds(std::span<const double> sum_error, std::span<const double> magnitude, std::span<double> bound) const;
};

/// The error of log l under a model, `log_sum` the exact log of the l that the double evaluation computed.
double log_error(const ErrorModel& model, const RowErrors& errors, double inflation, const Ball& log_sum);

/// The error of LSE = m + log l.
double lse_error(const ErrorModel& model, const RowErrors& errors, double inflation, double maximum,
                 const Ball& log_sum);

/// A result past the output format's largest finite number saturates there: `bound`, or the distance to it.
inline double saturated(double largest, double magnitude, double bound) {
  const double past = magnitude * (1 + 0x1p-50) - largest;
  return past > bound ? past : bound;
}

/// What the row's own uncertainty in double multiplies bounds by, and all roundings made in computing them; +inf where
/// the double evaluation knows too little for a bound.
double inflation_of(const RowErrors& reference);

}  // namespace nbx::oracle
