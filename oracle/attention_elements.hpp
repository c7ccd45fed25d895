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
///
/// Where scores are known badly there is a second bound: whatever the kernel's scores, its o is an average of the
/// values up to its own roundings, so |o' - o| <= |o| + max_j |v_jd| · (1 + those).
struct OutputErrors {
  bool known = false;                                         // the first bound says something
  double per_sum_error = 0, per_magnitude = 0, constant = 0;  // before the final operations
  double per_largest = 0, own_constant = 0;                   // of the second
  double per_column = 0;                                      // of the first: times the largest |v| of the column
  double final_relative = 0, final_absolute = 0;
  std::optional<HalfUlp> narrows;
  double largest = 0;  // finite number of the output's format, where results saturate

  /// `keys` visible to the row, l = row_sum.
  OutputErrors(const ErrorModel& model, const RowErrors& errors, double row_sum, double inflation, std::int64_t keys);

  /// bound[i] of an element of at most magnitude[i] whose P·V is off by at most sum_error[i]. `largest_value`: the
  /// largest |v| of the column among the keys that have a weight; empty where the second bound is not wanted, and
  /// per_column is 0.
  void bounds(std::span<const double> sum_error, std::span<const double> magnitude,
              std::span<const double> largest_value, std::span<double> bound) const;
};

/// Per column, the largest |v| among the row's keys that have a weight.
std::vector<double> largest_values(const AttentionHead& head, const BlockRow& row);

/// A row known so badly under a model that the second bound may be the smaller one.
inline bool known_badly(const RowErrors& errors, double inflation) { return !(errors.sum * inflation < 0.125); }

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
