// From a block's row to the elements of o and LSE: values, radii, bounds and classes.
#pragma once

#include <cstdint>

#include "oracle/attention_block.hpp"
#include "oracle/ball.hpp"
#include "oracle/reference.hpp"

namespace nbx::oracle {

/// Writes row `row` ((b·H + h)·Tq + i) of both outputs from row r of the block.
void write_row(const AttentionBlock& block, std::int64_t r, bool propagates, std::int64_t row, Evaluation::Output& o,
               Evaluation::Output& lse);

/// Everything behind P·V, for one element: what `sum_error`, the error of its P·V, becomes.
struct OutputError {
  double total = 0;
  double before_output = 0;  // without the final operations' and the output format's rounding
};
OutputError output_error(const ErrorModel& model, const RowErrors& errors, double row_sum, double inflation,
                         std::int64_t keys, double sum_error, double magnitude);

/// The error of log l under a model, `log_sum` the exact log of the l that the double evaluation computed.
double log_error(const ErrorModel& model, const RowErrors& errors, double inflation, const Ball& log_sum);

/// The error of LSE = m + log l.
double lse_error(const ErrorModel& model, const RowErrors& errors, double inflation, double maximum,
                 const Ball& log_sum);

/// A result past the output format's largest finite number saturates there: `bound`, or the distance to it.
double saturated(const ErrorModel& model, double magnitude, double bound);

/// What the row's own uncertainty in double multiplies bounds by, and all roundings made in computing them; +inf where
/// the double evaluation knows too little for a bound.
double inflation_of(const RowErrors& reference);

}  // namespace nbx::oracle
