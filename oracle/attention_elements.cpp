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

// The rare part: values that are not finite, and steps past fp32's range.
void settle_classes(const AttentionBlock& block, std::int64_t r, bool propagates, std::int64_t begin,
                    std::span<const double> magnitude, Evaluation::Output& o) {
  const AttentionHead& head = *block.head;
  const BlockRow& source = block.rows[r];
  const bool any_open = std::ranges::any_of(source.scores_open, [](std::uint8_t open) { return open != 0; });
  const bool any_special = !head.special_values.empty() && head.special_values.front() < source.keys;
  if (!any_open && !any_special && !head.sums_may_overflow) return;
  const SpecialColumns specials(block, r, propagates);
  for (std::int64_t d = 0; d < head.shape.Dv; ++d) {
    const std::int64_t element = begin + d;
    std::uint8_t all_classes = specials.classes(0, d);
    for (std::size_t a = 0; a < o.bounds.size(); ++a) {
      Bounds& bounds = o.bounds[a];
      const std::uint8_t closed = specials.classes(a + 1, d);
      std::uint8_t classes = closed;
      if (source.scores_open[a + 1]) {
        // A score past fp32's range: +inf or NaN poison the row, -inf loses a weight.
        classes |= finite | not_a_number;
        if (head.sums_may_overflow) classes |= plus_infinity | minus_infinity;
      } else if (head.sums_may_overflow) {
        classes = classes_of_sum(classes, overflow_classes(block, r, a + 1, d, magnitude[d] + bounds.bound[element]));
      }
      bounds.classes[element] = classes;
      bounds.open[element] = classes != closed || !(bounds.bound[element] < kInf);
      all_classes |= closed;
    }
    o.expected.classes[element] = all_classes;
    o.expected.value[element] = value_of(all_classes, o.expected.value[element]);
  }
}

}  // namespace

std::vector<double> largest_values(const AttentionHead& head, const BlockRow& row) {
  std::vector<double> largest(static_cast<std::size_t>(head.shape.Dv), 0.0);
  for (std::int64_t j = 0; j < row.keys; ++j) {
    if (std::ranges::binary_search(row.biased, j) || std::ranges::binary_search(row.absent, j)) continue;
    const double* v = head.value.values.row(j).data();
    for (std::size_t d = 0; d < largest.size(); ++d) largest[d] = std::max(largest[d], std::fabs(v[d]));
  }
  return largest;
}

double inflation_of(const RowErrors& reference) {
  const double unknown = reference.largest_growth + 2 * reference.sum + reference.pivot;
  return unknown <= kWellKnown ? (1 + 8 * unknown) * (1 + 0x1p-18) : kInf;
}

OutputErrors::OutputErrors(const ErrorModel& model, const RowErrors& errors, double row_sum, double inflation,
                           std::int64_t keys)
    : final_relative(model.output_relative), final_absolute(model.output_absolute), largest(model.largest_output) {
  if (model.output) narrows.emplace(*model.output);
  const auto count = static_cast<double>(keys);
  const double own_left = 1 - errors.own_sum;
  if (own_left > 0 && !model.accumulated.empty()) {
    // |o'| <= max |v| sum p' (1 + roundings) / l', l' >= (1 - own) sum p' and sum p' >= 1: absolute errors as they are.
    const double later = model.accumulated[static_cast<std::size_t>(std::max<std::int64_t>(keys, 1))];
    const double roundings = compose(compose(model.weight_relative, later), model.divide_relative);
    const double absolute = count *
                            (model.weight_half_quantum + model.weight_subnormal + model.exp_absolute +
                             model.rescale_absolute + model.divide_absolute + model.accumulated_largest) *
                            (1 + roundings) * errors.own_enlarged;
    per_largest = (1 + roundings + absolute) / own_left;
    own_constant = ((count * model.accumulated_absolute + model.accumulated_fixed) * errors.own_enlarged +
                    model.value_absolute * 2) /
                   own_left;
  } else {
    own_constant = kInf;
  }
  const double E = errors.sum;
  const double left = 1 - model.shrink * E * (1 + 0x1p-40);
  known = left > 0 && inflation < kInf;
  if (!known) return;
  // |N'/l' - N/l| <= (dN / l + |o| E) / (1 - E), dN = sum_error + absolute. Absolute errors of P·V are relative to the
  // kernel's maximum, or, for normalised weights, to 1.
  const double unit = model.normalised_weights ? row_sum * (1 + E) : errors.enlarged;
  const double absolute =
      (count * model.accumulated_absolute + model.accumulated_fixed) * unit + model.value_absolute * row_sum * (1 + E);
  per_sum_error = inflation / left / row_sum;
  per_magnitude = E * inflation / left;
  constant = absolute * per_sum_error;
  per_column = count * model.accumulated_largest * unit * per_sum_error;
}

void OutputErrors::bounds(std::span<const double> sum_error, std::span<const double> magnitude,
                          std::span<const double> largest_value, std::span<double> bound) const {
  const std::size_t n = bound.size();
  if (known) {
    for (std::size_t i = 0; i < n; ++i) {
      bound[i] = sum_error[i] * per_sum_error + magnitude[i] * per_magnitude + constant;
    }
  } else {
    std::ranges::fill(bound, kInf);
  }
  if (per_column > 0) {
    for (std::size_t i = 0; i < n; ++i) bound[i] += per_column * largest_value[i];
  }
  if (!largest_value.empty()) {
    for (std::size_t i = 0; i < n; ++i) {
      // |o| itself is at most the largest |v|.
      const double of_exact = std::min(magnitude[i], largest_value[i] * (1 + 0x1p-40));
      bound[i] = std::min(bound[i], of_exact + largest_value[i] * per_largest * (1 + 0x1p-18) + own_constant);
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    bound[i] = (bound[i] + final_relative * (magnitude[i] + bound[i]) + final_absolute) * (1 + 0x1p-40);
  }
  if (narrows) {
    const HalfUlp half_ulp_of = *narrows;
    for (std::size_t i = 0; i < n; ++i) bound[i] = (bound[i] + half_ulp_of(magnitude[i] + bound[i])) * (1 + 0x1p-40);
  }
  for (std::size_t i = 0; i < n; ++i) bound[i] = saturated(largest, magnitude[i], bound[i]);
}

double log_error(const ErrorModel& model, const RowErrors& errors, double inflation, const Ball& log_sum) {
  // |log(l'/l)| <= -log(1 - E), and the common factor of the weights. Or: LSE moves by at most the largest error of an
  // exponent, and by the sum's own error.
  const double E = errors.sum * inflation;
  const double by_weights = E < 1 ? -std::log1p(-E) + errors.pivot : kInf;
  const double by_scores = errors.own_sum < 1 ? errors.largest_error - std::log1p(-errors.own_sum) : kInf;
  const double of_sum = std::fmin(by_weights, by_scores * (1 + 0x1p-18)) * (1 + 0x1p-40) + log_sum.radius;
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
  const AttentionHead& head = *block.head;
  const BlockRow& source = block.rows[r];
  const auto Dv = static_cast<std::size_t>(head.shape.Dv);
  const std::int64_t begin = row * head.shape.Dv;
  if (source.state != BlockRow::State::counted) {
    const bool masked = source.state == BlockRow::State::masked;
    for (std::size_t d = 0; d < Dv; ++d) {
      fill_element(o, begin + static_cast<std::int64_t>(d), masked ? 0.0 : kNaN,
                   masked ? exact_plus_zero : not_a_number);
    }
    fill_element(lse, row, masked ? -kInf : kNaN, masked ? minus_infinity : not_a_number);
    return;
  }
  const double inflation = inflation_of(source.errors[0]);
  const std::span value(o.expected.value.data() + begin, Dv);
  const std::span radius(o.expected.radius.data() + begin, Dv);
  std::vector<double> magnitude(Dv);
  for (std::size_t d = 0; d < Dv; ++d) {
    value[d] = block.sums(r, static_cast<std::int64_t>(d)) / source.sum;
    magnitude[d] = std::fabs(value[d]);
  }
  const auto sum_errors = [&](std::size_t model) { return std::span(block.errors[model].row(r).data(), Dv); };
  std::vector<double> largest_value;
  const auto by_column = [](const ErrorModel& model) { return model.accumulated_largest > 0; };
  if (std::ranges::any_of(head.models, by_column) ||
      std::ranges::any_of(source.errors, [&](const RowErrors& e) { return known_badly(e, inflation); })) {
    largest_value = largest_values(head, source);
  }
  OutputErrors(head.models[0], source.errors[0], source.sum, inflation, source.keys)
      .bounds(sum_errors(0), magnitude, largest_value, radius);
  for (std::size_t d = 0; d < Dv; ++d) magnitude[d] = (magnitude[d] + radius[d]) * (1 + 0x1p-50);
  std::fill_n(o.expected.classes.data() + begin, Dv, static_cast<std::uint8_t>(finite));
  for (std::size_t a = 0; a < o.bounds.size(); ++a) {
    const std::span bound(o.bounds[a].bound.data() + begin, Dv);
    if (source.scores_open[a + 1]) {
      std::ranges::fill(bound, kInf);
    } else {
      OutputErrors(head.models[a + 1], source.errors[a + 1], source.sum, inflation, source.keys)
          .bounds(sum_errors(a + 1), magnitude, largest_value, bound);
    }
    std::fill_n(o.bounds[a].classes.data() + begin, Dv, static_cast<std::uint8_t>(finite));
    for (std::size_t d = 0; d < Dv; ++d) o.bounds[a].open[begin + static_cast<std::int64_t>(d)] = !(bound[d] < kInf);
  }
  settle_classes(block, r, propagates, begin, magnitude, o);

  const Ball log_sum = log(Ball{source.sum, 0});
  lse.expected.value[row] = source.maximum + log_sum.value;
  lse.expected.radius[row] = lse_error(head.models[0], source.errors[0], inflation, source.maximum, log_sum);
  lse.expected.classes[row] = finite;
  for (std::size_t a = 0; a < o.bounds.size(); ++a) {
    const bool open = source.scores_open[a + 1] != 0;
    const double bound =
        open ? kInf : lse_error(head.models[a + 1], source.errors[a + 1], inflation, source.maximum, log_sum);
    lse.bounds[a].bound[row] = bound;
    lse.bounds[a].classes[row] = open ? finite | not_a_number | minus_infinity : finite;
    lse.bounds[a].open[row] = open || !(bound < kInf);
  }
}

}  // namespace nbx::oracle
