// From a block's row to the elements of o and LSE: values, radii, bounds and classes.
#pragma once

#include <cstdint>

#include "oracle/attention_block.hpp"
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

/// The error of LSE under a model.
double lse_error(const ErrorModel& model, const RowErrors& errors, double inflation, double maximum, double log_sum,
                 double log_sum_radius);

/// What the row's own uncertainty in double multiplies bounds by, and all roundings made in computing them; +inf where
/// the double evaluation knows too little for a bound.
double inflation_of(const RowErrors& reference);

}  // namespace nbx::oracle
