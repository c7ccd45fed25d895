// The errors of one query row under one model: from scores to weights, row sum and the coefficients of |v|.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "oracle/error_model.hpp"

namespace nbx::oracle {

/// What the double evaluation knows of a row. All spans have one entry per visible key.
struct RowScores {
  std::span<const double> score;     // s; 0 at excluded keys
  std::span<const double> distance;  // x = m - s >= 0, m the largest s; kExcluded at excluded keys
  std::span<const double> weight;    // p = e^-x, as computed
  std::span<const double> bias;      // empty without one
  std::span<const float> products;   // A / (query_factor · key_factors)
  std::span<const double> key_factors;
  std::span<const std::int64_t> excluded;  // keys of weight exactly 0: bias -inf, score -inf
  double query_factor = 0;
  double sum = 0;      // l, as computed
  double maximum = 0;  // m
  /// Natural units: the fixed shift less m; NaN: the kernel subtracts its maximum. Absolute errors of weights are then
  /// made at the scale of 2^(score - shift).
  double fixed_offset = std::numeric_limits<double>::quiet_NaN();
};
/// Beyond certified_exp's domain, so that the weight is 0.
inline constexpr double kExcluded = 700;

/// Errors of weights are relative to a common factor, which cancels in o. Either the factor is e^(m - kernel's m), so
/// that each weight carries its own score error; or the heaviest key's weight is the unit: it carries none, and every
/// other carries both. The second is tighter where one key takes more than half, and the only one that knows anything
/// where score errors exceed 1 and yet one key takes all.
struct RowErrors {
  double sum = 0;       // E: |computed l / l - 1| <= E, but for the common factor; +inf: nothing is known
  double enlarged = 1;  // what absolute errors grow by, as the kernel's maximum may lie above the unit's score
  double shift = 0;     // the kernel's maximum exceeds the exact one by at most this
  double pivot = 0;     // score error of the heaviest key where it is the unit: the common factor in LSE
  double scores = 0, weights = 0;  // parts of E: from the scores; from exp. The rest is the sum's own
  double largest_error = 0;        // of an exponent, vanished weights included: LSE moves by no more; may be +inf
  double own_sum = 0;              // E without the scores: of the kernel's l for its own scores
  double own_enlarged = 1;         // what absolute errors grow by beside the kernel's own largest weight
  double largest_growth = 0;       // the largest e^error - 1 of a weight that has not vanished
};

/// Fills E and so on; growth[j] becomes e^error_j - 1 >= |relative error of weight j from scores and distance|.
RowErrors weight_errors(const ErrorModel& model, const RowScores& row, std::span<double> growth);

/// coefficient[j]: how far the kernel's weight j times its later roundings may be from p_j, so that its P·V is off by
/// at most sum_j coefficient[j] |v_jd|. 0 at excluded keys. `growth` from weight_errors.
void value_coefficients(const ErrorModel& model, const RowScores& row, const RowErrors& errors,
                        std::span<const double> growth, std::span<double> coefficient);

/// The same for one key, split: from scores, from the weights themselves (exp and narrowing), from accumulation.
struct CoefficientParts {
  double scores, weights, accumulation;
};
CoefficientParts coefficient_parts(const ErrorModel& model, const RowScores& row, const RowErrors& errors,
                                   double growth, std::int64_t key);

}  // namespace nbx::oracle
