// Where the bound of one element of attention comes from: the parts of its row's errors, by the formulas of
// attention_elements.cpp.
#include <cmath>
#include <limits>

#include "oracle/attention_block.hpp"
#include "oracle/attention_elements.hpp"
#include "oracle/exp.hpp"
#include "oracle/output.hpp"
#include "oracle/reference.hpp"

namespace nbx::oracle {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

}  // namespace

BoundParts bound_parts(const AttentionInput& input, const Arithmetic& arithmetic, std::size_t output,
                       std::int64_t element) {
  const AttentionShape shape(input);
  const std::int64_t row = output == 0 ? element / shape.Dv : element;
  const std::int64_t h = row / shape.Tq % shape.H, b = row / (shape.Tq * shape.H);
  const AttentionHead head(shape, b, h / shape.group, {&arithmetic, 1});
  AttentionBlock block(shape, 2, 1);
  block.compute(head, row - head.first_row(), 1);
  Evaluation::Output o = make_output("o", {1, shape.Dv}, 1);
  Evaluation::Output lse = make_output("lse", {1}, 1);
  const bool propagates = arithmetic.masked_value == Arithmetic::MaskedValue::propagates;
  write_row(block, 0, propagates, 0, o, lse);
  const BlockRow& source = block.rows[0];
  const std::int64_t d = output == 0 ? element % shape.Dv : 0;
  const double bound = output == 0 ? o.bounds[0].bound[d] : lse.bounds[0].bound[0];
  if (source.state != BlockRow::State::counted || bound == 0) return {};
  if (!(bound < kInf)) return {.scores = kInf};

  const ErrorModel& model = head.models[1];
  const RowErrors& errors = source.errors[1];
  const double left = 1 - errors.sum;
  const double of_sum = errors.sum - errors.scores - errors.weights;
  BoundParts parts;
  if (output == 1) {
    parts.scores = (errors.scores + errors.pivot) / left;
    parts.weights = errors.weights / left;
    parts.sum = of_sum / left;
    settle_rest(parts, bound);
    return parts;
  }
  // The block's scratch holds the arrays of its last row and model: this one.
  const RowScores scores = block.row_scores(0, block.scratch, 1);
  for (std::int64_t j = 0; j < source.keys; ++j) {
    const double v = std::fabs(head.value.values(j, d));
    if (v == 0 || block.scratch.distance[j] == kExcluded) continue;
    const CoefficientParts of_key = coefficient_parts(model, scores, errors, block.scratch.growth[j], j);
    parts.scores += of_key.scores * v;
    parts.weights += of_key.weights * v;
    parts.accumulation += of_key.accumulation * v;
  }
  const double unit = model.normalised_weights ? source.sum * (1 + errors.sum) : errors.enlarged;
  parts.accumulation +=
      (static_cast<double>(source.keys) * model.accumulated_absolute + model.accumulated_fixed) * unit +
      model.value_absolute * source.sum * (1 + errors.sum);
  if (model.accumulated_largest > 0) {
    parts.accumulation += static_cast<double>(source.keys) * model.accumulated_largest * unit *
                          largest_values(head, source)[static_cast<std::size_t>(d)];
  }
  const double per = inflation_of(source.errors[0]) / left;
  const double magnitude = std::fabs(o.expected.value[d]);
  parts.scores = (parts.scores / source.sum + magnitude * errors.scores) * per;
  parts.weights = (parts.weights / source.sum + magnitude * errors.weights) * per;
  parts.sum = magnitude * of_sum * per;
  parts.accumulation *= per / source.sum;
  settle_rest(parts, bound);
  return parts;
}

}  // namespace nbx::oracle
