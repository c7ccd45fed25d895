// A declared arithmetic digested for one attention problem: the numbers that its bound is made of. The certified double
// evaluation is described by the same numbers, with u = 2^-53, so that radii and bounds come from one derivation, which
// README.md gives step by step.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "oracle/arithmetic.hpp"
#include "oracle/attention_shape.hpp"
#include "oracle/dot_error.hpp"
#include "oracle/merge_error.hpp"

namespace nbx::oracle {

/// |narrowed x - x| <= relative |x| + absolute.
struct Narrowing {
  double relative = 0, absolute = 0;
};

/// Largest finite magnitudes among what some row may see, and how narrowing to an operand format moves those elements.
struct OperandRange {
  double largest = 0;
  double smallest = 0;  // nonzero; 0 where all are 0
};

struct ErrorModel {
  // Scores: |computed - exact| <= score_terms · A + score_value |s| + score_bias |bias| + score_absolute
  //                               + score_key · max|k_j| + score_query · max|q_i| + score_largest · max|q_i| max|k_j|,
  // A = sum over d of profile[d] |q_d||k_d|, profile[d] in (0, 1].
  std::vector<double> profile;
  double score_terms = 0, score_value = 0, score_bias = 0, score_absolute = 0, score_key = 0, score_query = 0,
         score_largest = 0;
  // The way from the score to the exponent: distance · (distance from the maximum) + distance_absolute.
  double distance = 0, distance_absolute = 0;
  double distance_maximum = 0;  // of |m|, the row's maximum: what merging by LSE adds
  bool fixed_shift = false;
  double headroom = 0;  // how far what a row subtracts may lie above its maximum
  bool mixed = false;   // some key ranges of a row have a fixed shift, others follow their maximum
  double exp_relative = 0, exp_absolute = 0;
  double rescale_relative = 0;  // of all rescales of a row together, beside what `distance` covers
  double rescale_absolute = 0;  // of each weight, for factors that underflow
  // Row sum.
  double sum_relative = 0, sum_absolute = 0;  // absolute: per weight
  // Weights as P·V reads them.
  bool normalised_weights = false;
  double divide_relative = 0, divide_absolute = 0;
  double weight_relative = 0, weight_half_quantum = 0;
  double weight_subnormal = 0;  // of each weight, as a fused group reads subnormal ones
  // P·V: accumulated[r], see DotError, with everything relative that a term passes through.
  std::vector<double> accumulated;  // [Tk + 1]
  bool accumulated_uniform = false;
  double value_absolute = 0;        // narrowing of v, per unit of weight
  double accumulated_absolute = 0;  // per key
  double accumulated_fixed = 0;
  double accumulated_largest = 0;  // per key, of the largest |v| of its column among those that have a weight
  // After P·V.
  double output_relative = 0, output_absolute = 0;
  std::optional<Format> output;  // the format that narrows at the end; none: the last operation has rounded already
  // LSE.
  double log_relative = 0, log_absolute = 0;
  double lse_relative = 0, lse_absolute = 0, lse_maximum = 0;
  // Overflow: what the dot product sums is dot_scale · q·k; scores end up multiplied by final_scale.
  double dot_scale = 1, final_scale = 1;
  double largest_step = 0;  // the largest finite fp32; +inf for the double evaluation
  double largest_output = 0;
  bool running_maximum = false;
  double shrink = 1;  // the row's own sums enter their error: 1/(1 - shrink · E) solves it (2 for the reference)
};

/// `q`, `k`, `v`: ranges of the elements that any row may see.
ErrorModel error_model(const Arithmetic& arithmetic, const AttentionShape& shape, const OperandRange& q,
                       const OperandRange& k, const OperandRange& v);
/// The same with a statement of its own of what merges add.
ErrorModel error_model(const Arithmetic& arithmetic, const MergeError& merges, const AttentionShape& shape,
                       const OperandRange& q, const OperandRange& k, const OperandRange& v);

/// The double evaluation over the same problem. `profile` is the one whose A it is given.
ErrorModel reference_model(const AttentionShape& shape, const std::vector<double>& profile);

/// Softmax and log-softmax of rows of n elements: the scores are the inputs, exactly, and nothing follows the division.
ErrorModel softmax_model(const Arithmetic& arithmetic, std::int64_t n);
ErrorModel softmax_reference_model(std::int64_t n);

/// Narrowing of finite elements within `range` of `from`, multiplied by fp32 `scale` first where there is one.
Narrowing narrowing(Format from, const OperandRange& range, Format operand, std::optional<double> scale,
                    bool flush_to_zero);

}  // namespace nbx::oracle
