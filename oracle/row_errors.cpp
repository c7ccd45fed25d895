#include "oracle/row_errors.hpp"

#include <Eigen/Core>
#include <cmath>
#include <limits>

#include "oracle/exp.hpp"

namespace nbx::oracle {
namespace {

using Array = Eigen::Map<Eigen::ArrayXd>;

constexpr double kUnknown = std::numeric_limits<double>::infinity();
// A weight cut to 0 by certified_exp is below e^(error - distance): at most this where the error leaves 150.
constexpr double kVanished = 0x1p-216;
constexpr double kVanishedDistance = 150;

// Absolute part of each weight of a row, before it is narrowed.
double weight_absolute(const ErrorModel& model, const RowErrors& errors, double sum) {
  return (model.exp_absolute + model.rescale_absolute) * errors.enlarged + kVanished +
         (model.normalised_weights ? model.divide_absolute * sum * 2 : 0);
}

// Constants of value_coefficients, shared by the vector loop and the single key.
struct Coefficients {
  double subnormal;
  double relative;  // exp and, for normalised weights, the division
  double absolute;
  double narrowing, half_quantum;
  Coefficients(const ErrorModel& model, const RowErrors& errors, double sum)
      : subnormal(model.weight_subnormal *
                  (model.normalised_weights ? sum * (1 + errors.sum) * (1 + 0x1p-20) : errors.enlarged)),
        relative(compose(model.exp_relative, model.normalised_weights ? model.divide_relative : 0)),
        absolute(weight_absolute(model, errors, sum)),
        narrowing(model.weight_relative),
        // Normalised weights p / l are narrowed at their own size; others relative to the kernel's maximum.
        half_quantum(model.weight_half_quantum *
                     (model.normalised_weights ? sum * (1 + errors.sum) * (1 + 0x1p-20) : errors.enlarged)) {}

  double before(double p, double growth) const { return p * (growth + relative + growth * relative) + absolute; }
  // Narrowing moves w by at most u_P |w|, and by at most half a quantum below the normal range, and never past 0.
  double narrowed(double w) const { return std::max(narrowing * w, std::min(w, half_quantum)); }
};

void score_errors(const ErrorModel& model, const RowScores& row, Array error) {
  // (a A + b) · key factor + c |s| + d |bias| + e; A came from fp32 products of D terms, each operand rounded once, and
  // its smallest terms may have underflowed.
  const auto terms = static_cast<double>(model.profile.size());
  const double per_product = model.score_terms * row.query_factor * (1 + (terms + 8) * 0x1p-23);
  const double per_key = model.score_terms * row.query_factor * terms * 0x1p-147 + model.score_key +
                         model.score_largest * row.query_factor;
  const double constant = model.score_absolute + model.score_query * row.query_factor;
  const auto n = static_cast<Eigen::Index>(row.score.size());
  const double* score = row.score.data();
  const double* factor = row.key_factors.data();
  const float* product = row.products.data();
  double* out = error.data();
  const double per_score = model.score_value;
  for (Eigen::Index j = 0; j < n; ++j) {
    out[j] = (per_product * static_cast<double>(product[j]) + per_key) * factor[j] + per_score * std::fabs(score[j]) +
             constant;
  }
  if (!row.bias.empty()) {
    error += Eigen::Map<const Eigen::ArrayXd>(row.bias.data(), n).abs() * model.score_bias;
  }
  for (const std::int64_t key : row.excluded) out[key] = 0;
}

// The heaviest key: the one at distance 0.
Eigen::Index heaviest(const RowScores& row) {
  Eigen::Index key = 0;
  Eigen::Map<const Eigen::ArrayXd>(row.distance.data(), static_cast<Eigen::Index>(row.distance.size())).minCoeff(&key);
  return key;
}

// e^d - 1 in place, rounded up; d >= 0.
void grow(Array error) {
  double* e = error.data();
  const Eigen::Index n = error.size();
  if (error.maxCoeff() <= 0.0625) {
    // e^d - 1 <= d + d²/2 + d³/6 / (1 - d/4) <= d (1 + d (0.5 + 0.1694 d)).
    for (Eigen::Index j = 0; j < n; ++j) e[j] = e[j] * (1 + e[j] * (0.5 + 0.17 * e[j]));
  } else {
    // The absolute 2^-48 covers the cancellation of small errors beside the large one.
    for (Eigen::Index j = 0; j < n; ++j) e[j] = certified_exp(e[j]) * (1 + 0x1p-48) - 1 + 0x1p-48;
  }
}

// Score errors to errors of the exponent, in place: slope · error + per_distance · x + constant; 0 for a weight that
// was cut to 0. Returns the largest error - x among those.
double exponent_errors(double slope, double per_distance, double constant,
                       const Eigen::Map<const Eigen::ArrayXd>& distance, Array error) {
  const Eigen::Index n = error.size();
  if (distance.maxCoeff() <= exp_domain) {
    error = error * slope + distance * per_distance + constant;
    return -kUnknown;
  }
  double overhang = -kUnknown;
  for (Eigen::Index j = 0; j < n; ++j) {
    const double full = error[j] * slope + per_distance * distance[j] + constant;
    const bool vanished = distance[j] > exp_domain;
    if (vanished) overhang = std::fmax(overhang, full - distance[j]);
    error[j] = vanished ? 0.0 : full;
  }
  return overhang;
}

// e^x, at least 1: absolute errors are never taken for smaller than at the scale of the row's maximum.
double enlargement(double x) {
  return x < kVanishedDistance ? certified_exp(std::fmax(x, 0.0)) * (1 + 0x1p-40) : kUnknown;
}

RowErrors errors_by_unit(const ErrorModel& model, const RowScores& row, bool pivoted, std::span<double> growth) {
  RowErrors result;
  const auto n = static_cast<Eigen::Index>(row.score.size());
  Array error(growth.data(), n);
  const Eigen::Map<const Eigen::ArrayXd> distance(row.distance.data(), n);
  const Eigen::Map<const Eigen::ArrayXd> weight(row.weight.data(), n);
  score_errors(model, row, error);
  result.sum = kUnknown;
  const auto keys = static_cast<double>(n);
  const double per_weight = model.exp_absolute + model.rescale_absolute + model.sum_absolute;
  const bool fixed = !std::isnan(row.fixed_offset);
  // The kernel's largest weight is e^(score - shift), and the score may be too low by its error.
  if (fixed) result.own_enlarged = enlargement(row.fixed_offset + error.maxCoeff());
  // What it subtracts in place of its maximum may lie above that: its largest weight is e^-headroom at least.
  const double headroom = fixed ? 0 : model.headroom;
  if (headroom > 0) result.own_enlarged = enlargement(headroom);
  // Relative to its own maximum the kernel's l is at least 1.
  result.own_sum =
      compose(model.exp_relative + (per_weight + kVanished) * keys * result.own_enlarged, model.sum_relative);
  // The kernel's maximum is the largest computed score: above the exact one by at most max (error - distance). A fixed
  // shift lies on either side.
  // Where key ranges go either way, both.
  const bool follows = !fixed || model.mixed;
  const double of_maximum = follows ? std::fmax(0.0, (error - distance).maxCoeff()) : 0;
  result.shift = fixed ? std::fmax(std::fabs(row.fixed_offset), of_maximum) : of_maximum;
  result.largest_error = error.maxCoeff() * (1 + 2 * model.distance) +
                         model.distance * (distance.maxCoeff() + result.shift) + model.distance_absolute +
                         model.distance_maximum * std::fabs(row.maximum);
  double above = fixed ? std::fmax(row.fixed_offset, model.mixed ? of_maximum + headroom : row.fixed_offset)
                       : result.shift + headroom;
  const Eigen::Index top = pivoted ? heaviest(row) : -1;
  if (pivoted) {
    result.pivot = error[top];
    // Above the unit's computed score by at most max over the others of (error - distance) + the unit's own error.
    error[top] = -kUnknown;
    const double of_scores = (error - distance).maxCoeff();
    const double by_maximum = std::fmax(0.0, of_scores + result.pivot) + headroom,
                 by_shift = row.fixed_offset + result.pivot;
    above = !fixed ? by_maximum : model.mixed ? std::fmax(by_shift, by_maximum) : by_shift;
    error[top] = 0;
  }
  if (!(above < kVanishedDistance)) return result;
  result.enlarged = enlargement(above);
  // error + distance's share of (x + error + shift), and the unit's own error.
  const double slope = 1 + model.distance;
  const double of_row =
      model.distance * result.shift + model.distance_absolute + model.distance_maximum * std::fabs(row.maximum);
  const double constant = of_row + result.pivot * slope;
  const double overhang = exponent_errors(slope, model.distance, constant, distance, error);
  if (pivoted) error[top] = model.distance * result.pivot + of_row;
  if (!(overhang <= -kVanishedDistance) || !(error.maxCoeff() <= exp_domain)) return result;
  grow(error);
  result.largest_growth = error.maxCoeff();
  const double from_scores = (weight * error).sum() * (1 + 0x1p-30) / row.sum;
  const double absolute = (per_weight * result.enlarged + kVanished) * keys / row.sum;
  result.scores = from_scores;
  result.weights = model.exp_relative * (1 + from_scores) + absolute;
  result.sum = compose(from_scores + result.weights, model.sum_relative);
  return result;
}

}  // namespace

RowErrors weight_errors(const ErrorModel& model, const RowScores& row, std::span<double> growth) {
  // l >= 1, and the heaviest key takes 1 / l of it.
  const bool one_takes_most = row.sum < 1.75;
  const RowErrors first = errors_by_unit(model, row, one_takes_most, growth);
  if (first.sum < 0x1p-6 || one_takes_most) return first;
  const RowErrors pivoted = errors_by_unit(model, row, true, growth);
  if (pivoted.sum < first.sum) return pivoted;
  return errors_by_unit(model, row, false, growth);
}

void value_coefficients(const ErrorModel& model, const RowScores& row, const RowErrors& errors,
                        std::span<const double> growth, std::span<double> coefficient) {
  const auto n = static_cast<Eigen::Index>(row.score.size());
  const Coefficients c(model, errors, row.sum);
  const double* p = row.weight.data();
  const double* g = growth.data();
  double* out = coefficient.data();
  // accumulated[n - j] of key j, or accumulated[n] of all.
  const double* accumulated = model.accumulated.data() + n;
  const auto loop = [&](auto narrows, auto uniform) {
    const double same = *accumulated;
    for (Eigen::Index j = 0; j < n; ++j) {
      const double before = c.before(p[j], g[j]);
      const double narrowed = narrows ? c.narrowed(p[j] + before) : 0.0;
      const double later = uniform ? same : accumulated[-j];
      out[j] = before + narrowed + (p[j] + before + narrowed) * later + c.subnormal;
    }
  };
  const bool narrows = c.narrowing > 0;
  if (narrows) {
    model.accumulated_uniform ? loop(std::true_type{}, std::true_type{}) : loop(std::true_type{}, std::false_type{});
  } else {
    model.accumulated_uniform ? loop(std::false_type{}, std::true_type{}) : loop(std::false_type{}, std::false_type{});
  }
  for (const std::int64_t key : row.excluded) out[key] = 0;
}

CoefficientParts coefficient_parts(const ErrorModel& model, const RowScores& row, const RowErrors& errors,
                                   double growth, std::int64_t key) {
  const auto n = static_cast<std::int64_t>(row.score.size());
  const Coefficients c(model, errors, row.sum);
  const double p = row.weight[key];
  const double before = c.before(p, growth);
  const double narrowed = c.narrowing > 0 ? c.narrowed(p + before) : 0.0;
  const double later = model.accumulated[model.accumulated_uniform ? n : n - key];
  const double scores = p * growth;
  return {scores, before + narrowed - scores, (p + before + narrowed) * later + c.subnormal};
}

}  // namespace nbx::oracle
