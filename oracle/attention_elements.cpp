#include "oracle/attention_elements.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "oracle/exp.hpp"
#include "oracle/output.hpp"
#include "oracle/special_values.hpp"

namespace nbx::oracle {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
// The double evaluation is worth bounds while its weights are known to this share.
constexpr double kWellKnown = 0x1p-6;

double value_of(std::uint8_t classes, double finite_value) {
  if (classes & finite) return finite_value;
  if (classes & plus_infinity) return kInf;
  if (classes & minus_infinity) return -kInf;
  return kNaN;
}

}  // namespace

double saturated(const ErrorModel& model, double magnitude, double bound) {
  const double past = magnitude * (1 + 0x1p-50) - model.largest_output;
  return past > bound ? past : bound;
}

double inflation_of(const RowErrors& reference) {
  const double unknown = reference.largest_growth + 2 * reference.sum + reference.pivot;
  return unknown <= kWellKnown ? (1 + 8 * unknown) * (1 + 0x1p-18) : kInf;
}

OutputError output_error(const ErrorModel& model, const RowErrors& errors, double row_sum, double inflation,
                         std::int64_t keys, double sum_error, double magnitude) {
  const double E = errors.sum;
  const double left = 1 - model.shrink * E * (1 + 0x1p-40);
  if (!(left > 0) || !(inflation < kInf)) return {kInf, kInf};
  // Absolute errors of P·V: relative to the kernel's maximum, or, for normalised weights, to 1.
  const double unit = model.normalised_weights ? row_sum * (1 + E) : errors.enlarged;
  const double absolute = (static_cast<double>(keys) * model.accumulated_absolute + model.accumulated_fixed) * unit +
                          model.value_absolute * row_sum * (1 + E);
  // |N'/l' - N/l| <= (dN / l + |o| E) / (1 - E).
  const double quotient = ((sum_error + absolute) / row_sum + magnitude * E) / left * inflation;
  double total = quotient + model.output_relative * (magnitude + quotient) + model.output_absolute;
  if (model.output) total += half_ulp(*model.output, magnitude + total);
  return {total * (1 + 0x1p-40), quotient};
}

double log_error(const ErrorModel& model, const RowErrors& errors, double inflation, const Ball& log_sum) {
  const double E = errors.sum * inflation;
  if (!(E < 1)) return kInf;
  // |log(l'/l)| <= -log(1 - E), and the common factor of the weights.
  const double of_sum = -std::log1p(-E) * (1 + 0x1p-40) + errors.pivot + log_sum.radius;
  return of_sum + model.log_relative * (std::fabs(log_sum.value) + of_sum) + model.log_absolute;
}

double lse_error(const ErrorModel& model, const RowErrors& errors, double inflation, double maximum,
                 const Ball& log_sum) {
  const double before =
      log_error(model, errors, inflation, log_sum) + model.lse_maximum * (std::fabs(maximum) + errors.shift);
  return (before + model.lse_relative * (std::fabs(maximum + log_sum.value) + before) + model.lse_absolute) *
         (1 + 0x1p-18);
}

void write_row(const AttentionBlock& block, std::int64_t r, bool propagates, std::int64_t row, Evaluation::Output& o,
               Evaluation::Output& lse) {
  const AttentionHead& head = block.head;
  const BlockRow& source = block.rows[r];
  const std::int64_t Dv = head.shape.Dv;
  if (source.state != BlockRow::State::counted) {
    const bool masked = source.state == BlockRow::State::masked;
    for (std::int64_t d = 0; d < Dv; ++d) {
      fill_element(o, row * Dv + d, masked ? 0.0 : kNaN, masked ? exact_plus_zero : not_a_number);
    }
    fill_element(lse, row, masked ? -kInf : kNaN, masked ? minus_infinity : not_a_number);
    return;
  }
  const double l = source.sum;
  const double inflation = inflation_of(source.errors[0]);
  const std::size_t bounds = o.bounds.size();
  const SpecialColumns specials(block, r, propagates);
  for (std::int64_t d = 0; d < Dv; ++d) {
    const std::int64_t element = row * Dv + d;
    const double value = block.sums(r, d) / l;
    const double radius = output_error(head.models[0], source.errors[0], l, inflation, source.keys,
                                       block.errors[0](r, d), std::fabs(value))
                              .total;
    o.expected.radius[element] = radius;
    std::uint8_t all_classes = specials.classes(0, d);
    for (std::size_t a = 0; a < bounds; ++a) {
      const ErrorModel& model = head.models[a + 1];
      const double magnitude = std::fabs(value) + radius;
      double bound = kInf;
      std::uint8_t classes = specials.classes(a + 1, d);
      all_classes |= classes;
      std::uint8_t open = 0;
      if (source.scores_open[a + 1]) {
        // A score past fp32's range: +inf or NaN poison the row, -inf loses a weight.
        classes |= finite | not_a_number;
      } else {
        bound = saturated(
            model, magnitude,
            output_error(model, source.errors[a + 1], l, inflation, source.keys, block.errors[a + 1](r, d), magnitude)
                .total);
        if (head.sums_may_overflow) {
          classes = classes_of_sum(classes, overflow_classes(block, r, a + 1, d, magnitude + bound));
        }
      }
      open = classes != specials.classes(a + 1, d) || !(bound < kInf);
      o.bounds[a].bound[element] = bound;
      o.bounds[a].classes[element] = classes;
      o.bounds[a].open[element] = open;
    }
    o.expected.classes[element] = all_classes;
    o.expected.value[element] = value_of(all_classes, value);
  }

  const Ball log_sum = log(Ball{l, 0});
  lse.expected.value[row] = source.maximum + log_sum.value;
  lse.expected.radius[row] = lse_error(head.models[0], source.errors[0], inflation, source.maximum, log_sum);
  lse.expected.classes[row] = finite;
  for (std::size_t a = 0; a < bounds; ++a) {
    const bool open = source.scores_open[a + 1] != 0;
    const double bound =
        open ? kInf : lse_error(head.models[a + 1], source.errors[a + 1], inflation, source.maximum, log_sum);
    lse.bounds[a].bound[row] = bound;
    lse.bounds[a].classes[row] = open ? finite | not_a_number | minus_infinity : finite;
    lse.bounds[a].open[row] = open || !(bound < kInf);
  }
}

}  // namespace nbx::oracle
