// The certified softmax and log-softmax: row by row along any axis.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "oracle/attention_elements.hpp"
#include "oracle/exp.hpp"
#include "oracle/output.hpp"
#include "oracle/reference.hpp"
#include "oracle/row_errors.hpp"

namespace nbx::oracle {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Rows along an axis: element j of row r lies at first(r) + j · step.
struct SoftmaxShape {
  std::int64_t n, rows, step;
  explicit SoftmaxShape(const SoftmaxInput& input) {
    const auto axes = static_cast<int>(input.x.shape.size());
    if (input.axis < -axes || input.axis >= axes) throw std::invalid_argument("softmax input: axis within [-n, n)");
    if (static_cast<std::int64_t>(input.x.bytes.size()) < input.x.size() * traits(input.x.format).bytes) {
      throw std::invalid_argument("softmax input: as many bytes as the shape says");
    }
    const auto axis = static_cast<std::size_t>(input.axis < 0 ? input.axis + axes : input.axis);
    n = input.x.shape[axis];
    step = 1;
    for (std::size_t i = axis + 1; i < input.x.shape.size(); ++i) step *= input.x.shape[i];
    rows = n > 0 ? input.x.size() / n : 0;
  }
  std::int64_t first(std::int64_t row) const { return row / step * step * n + row % step; }
};

// One row: what the double evaluation knows of it, and its errors under one model after the other.
class SoftmaxRow {
 public:
  enum class State : std::uint8_t { counted, poisoned };  // poisoned: a NaN, a +inf, or nothing but -inf
  State state = State::poisoned;
  double maximum = 0, sum = 0;
  std::vector<double> score, distance, weight, growth, coefficient;
  std::vector<std::int64_t> excluded;

  SoftmaxRow(const SoftmaxInput& input, const SoftmaxShape& shape, std::int64_t row)
      : score(shape.n), ones_(shape.n, 1.0), products_(shape.n, 0.0f) {
    const std::int64_t first = shape.first(row);
    if (shape.step == 1) {
      input.x.read(first, score);
    } else {
      for (std::int64_t j = 0; j < shape.n; ++j) score[j] = input.x.at(first + j * shape.step);
    }
    maximum = -kInf;
    for (std::int64_t j = 0; j < shape.n; ++j) {
      if (std::isnan(score[j]) || score[j] == kInf) return;
      if (score[j] == -kInf) excluded.push_back(j);
      maximum = std::max(maximum, score[j]);
    }
    if (maximum == -kInf) return;
    state = State::counted;
    distance.resize(shape.n);
    weight.resize(shape.n);
    growth.resize(shape.n);
    coefficient.resize(shape.n);
    for (std::int64_t j = 0; j < shape.n; ++j) distance[j] = maximum - score[j];
    for (const std::int64_t j : excluded) distance[j] = kExcluded, score[j] = 0;
    for (std::int64_t j = 0; j < shape.n; ++j) weight[j] = certified_exp(-distance[j]);
    sum = std::accumulate(weight.begin(), weight.end(), 0.0);
  }

  RowScores scores() const {
    return {.score = score,
            .distance = distance,
            .weight = weight,
            .bias = {},
            .products = products_,
            .key_factors = ones_,
            .excluded = excluded,
            .query_factor = 0,
            .sum = sum};
  }
  RowErrors errors(const ErrorModel& model) {
    const RowErrors result = weight_errors(model, scores(), growth);
    if (result.sum < 1) value_coefficients(model, scores(), result, growth, coefficient);
    return result;
  }

 private:
  std::vector<double> ones_;
  std::vector<float> products_;
};

// |computed (x - m) - log l - exact|: the distance's roundings, the logarithm's, the subtraction's.
double log_softmax_error(const ErrorModel& model, const RowErrors& errors, double inflation, double distance,
                         double score, double maximum, const Ball& log_sum, double value) {
  const double of_log = log_error(model, errors, inflation, log_sum);
  // In the log2 domain both scores were rounded, and ln 2 comes back at the end.
  const double of_scores = model.score_value * (std::fabs(score) + std::fabs(maximum)) + 2 * model.score_absolute +
                           model.lse_maximum * distance;
  const double before = of_log + of_scores + model.distance * distance + model.distance_absolute;
  const double total = before + model.lse_relative * (std::fabs(value) + before) + model.lse_absolute;
  const double narrowed = model.output ? half_ulp(*model.output, std::fabs(value) + total) : 0.0;
  return (total + narrowed) * (1 + 0x1p-18);
}

// Errors of the row's elements, `magnitude` each at most, under a model whose errors of the row are given.
void element_errors(const SoftmaxInput& input, const ErrorModel& model, const SoftmaxRow& row, const RowErrors& errors,
                    double inflation, const Ball& log_sum, std::span<const double> magnitude, std::span<double> bound) {
  if (!input.log) {
    OutputErrors(model, errors, row.sum, inflation, 0).bounds(row.coefficient, magnitude, {}, bound);
    return;
  }
  for (std::size_t j = 0; j < bound.size(); ++j) {
    bound[j] = saturated(
        model.largest_output, magnitude[j],
        log_softmax_error(model, errors, inflation, row.distance[j], row.score[j], row.maximum, log_sum, magnitude[j]));
  }
}

void write_row(const SoftmaxInput& input, const SoftmaxShape& shape, std::int64_t r, std::span<const ErrorModel> models,
               Evaluation::Output& out) {
  SoftmaxRow row(input, shape, r);
  const std::int64_t first = shape.first(r);
  if (row.state == SoftmaxRow::State::poisoned) {
    for (std::int64_t j = 0; j < shape.n; ++j) fill_element(out, first + j * shape.step, kNaN, not_a_number);
    return;
  }
  const Ball log_sum = log(Ball{row.sum, 0});
  std::vector<double> magnitude(shape.n), error(shape.n);
  const RowErrors reference = row.errors(models[0]);
  const double inflation = inflation_of(reference);
  for (std::int64_t j = 0; j < shape.n; ++j) {
    const double value = input.log ? -row.distance[j] - log_sum.value : row.weight[j] / row.sum;
    fill_element(out, first + j * shape.step, value, finite);
    magnitude[j] = std::fabs(value);
  }
  element_errors(input, models[0], row, reference, inflation, log_sum, magnitude, error);
  for (std::int64_t j = 0; j < shape.n; ++j) {
    out.expected.radius[first + j * shape.step] = error[j];
    magnitude[j] = (magnitude[j] + error[j]) * (1 + 0x1p-50);
  }
  for (std::size_t a = 0; a < out.bounds.size(); ++a) {
    const ErrorModel& model = models[a + 1];
    Bounds& bounds = out.bounds[a];
    element_errors(input, model, row, row.errors(model), inflation, log_sum, magnitude, error);
    for (std::int64_t j = 0; j < shape.n; ++j) {
      const std::int64_t element = first + j * shape.step;
      bounds.bound[element] = error[j];
      // x - m past fp32's range: a weight of 0 all the same, but a log-softmax of -inf.
      const bool overflows = input.log && !(row.distance[j] + magnitude[j] + error[j] < model.largest_step);
      if (overflows) bounds.classes[element] = finite | minus_infinity;
      bounds.open[element] = overflows || !(error[j] < kInf);
    }
  }
  for (const std::int64_t j : row.excluded) {
    fill_element(out, first + j * shape.step, input.log ? -kInf : 0.0, input.log ? minus_infinity : finite);
  }
}

std::vector<ErrorModel> models_of(const SoftmaxShape& shape, std::span<const Arithmetic> arithmetics) {
  std::vector<ErrorModel> models = {softmax_reference_model(shape.n)};
  for (const Arithmetic& a : arithmetics) models.push_back(softmax_model(a, shape.n));
  return models;
}

}  // namespace

Evaluation evaluate(const SoftmaxInput& input, std::span<const Arithmetic> arithmetics) {
  const SoftmaxShape shape(input);
  Evaluation result;
  result.outputs.push_back(make_output("y", input.x.shape, arithmetics.size()));
  const std::vector<ErrorModel> models = models_of(shape, arithmetics);
  for (std::int64_t r = 0; r < shape.rows; ++r) write_row(input, shape, r, models, result.outputs[0]);
  return result;
}

BoundParts bound_parts(const SoftmaxInput& input, const Arithmetic& arithmetic, std::size_t, std::int64_t element) {
  const SoftmaxShape shape(input);
  const std::int64_t r = element / (shape.step * shape.n) * shape.step + element % shape.step;
  const std::int64_t j = element / shape.step % shape.n;
  const std::vector<ErrorModel> models = models_of(shape, {&arithmetic, 1});
  Evaluation::Output out = make_output("y", input.x.shape, 1);
  write_row(input, shape, r, models, out);
  SoftmaxRow row(input, shape, r);
  const double bound = out.bounds[0].bound[element];
  if (row.state == SoftmaxRow::State::poisoned || bound == 0) return {};
  const double inflation = inflation_of(row.errors(models[0]));
  const ErrorModel& model = models[1];
  const RowErrors errors = row.errors(model);
  if (!(bound < kInf)) return {.scores = kInf};
  BoundParts parts;
  const double left = 1 - errors.sum;
  if (input.log) {
    const double distance = row.distance[j];
    parts.scores = model.score_value * (std::fabs(row.score[j]) + std::fabs(row.maximum)) + 2 * model.score_absolute +
                   (model.distance + model.lse_maximum) * distance + model.distance_absolute +
                   (errors.scores + errors.pivot) / left;
    parts.weights = errors.weights / left;
    parts.sum = (errors.sum - errors.scores - errors.weights) / left;
  } else {
    const double magnitude = std::fabs(out.expected.value[element]);
    const CoefficientParts of_weight = coefficient_parts(model, row.scores(), errors, row.growth[j], j);
    const double per = inflation / left;
    parts.scores = (of_weight.scores / row.sum + magnitude * errors.scores) * per;
    parts.weights = (of_weight.weights / row.sum + magnitude * errors.weights) * per;
    parts.sum = magnitude * (errors.sum - errors.scores - errors.weights) * per;
  }
  settle_rest(parts, bound);
  return parts;
}

}  // namespace nbx::oracle
