#include "oracle/special_values.hpp"

#include <algorithm>
#include <cmath>

namespace nbx::oracle {

std::uint8_t classes_of_sum(std::uint8_t a, std::uint8_t b) {
  std::uint8_t sum = 0;
  if ((a & finite) && (b & finite)) sum |= finite;
  if ((a & not_a_number) || (b & not_a_number)) sum |= not_a_number;
  for (const auto& [sign, other] :
       {std::pair{plus_infinity, minus_infinity}, std::pair{minus_infinity, plus_infinity}}) {
    if (((a & sign) && (b & (finite | sign))) || ((b & sign) && (a & (finite | sign)))) sum |= sign;
    if ((a & sign) && (b & other)) sum |= not_a_number;
  }
  return sum;
}

SpecialColumns::SpecialColumns(const AttentionBlock& block, std::int64_t r, bool propagates)
    : columns_(static_cast<std::size_t>(block.head->shape.Dv)) {
  const AttentionHead& head = *block.head;
  const BlockRow& row = block.rows[r];
  if (head.special_values.empty() || head.special_values.front() >= row.keys) return;
  const std::size_t models = head.models.size();
  classes_.assign(models * columns_, finite);
  std::size_t index = 0;  // of the key within special_values
  for (const NonFinite& v : head.value.non_finite) {
    if (v.row >= row.keys) break;
    while (head.special_values[index] != v.row) ++index;
    const bool biased = std::ranges::binary_search(row.biased, v.row);
    const bool absent = std::ranges::binary_search(row.absent, v.row);
    for (std::size_t m = 0; m < models; ++m) {
      std::uint8_t addend;
      if (biased) {
        addend = propagates ? not_a_number : finite;
      } else if (absent) {
        addend = finite | not_a_number;  // 0 · value, or nothing
      } else if (std::isnan(v.value)) {
        addend = not_a_number;
      } else {
        addend = v.value > 0 ? plus_infinity : minus_infinity;
        // With kernels to speak for, only their weights vanish.
        const bool judged = m > 0 || models == 1;
        if (judged && row.may_vanish[m * head.special_values.size() + index]) addend |= not_a_number;
      }
      std::uint8_t& classes = classes_[m * columns_ + static_cast<std::size_t>(v.column)];
      classes = classes_of_sum(classes, addend);
    }
  }
}

std::uint8_t overflow_classes(const AttentionBlock& block, std::int64_t r, std::size_t model, std::int64_t d,
                              double largest_result) {
  const AttentionHead& head = *block.head;
  const BlockRow& row = block.rows[r];
  const ErrorModel& m = head.models[model];
  const MatrixF& coefficients = block.coefficients[model];
  // Partial sums stay below sum of w |v|: w <= p + coefficient, but up to 1 while the maximum still moves.
  double magnitudes = 0;
  bool positive = false, negative = false;
  for (std::int64_t j = 0; j < row.keys; ++j) {
    const double v = head.value.values(j, d);
    const double factor = head.value.factors[j];
    const double p = block.weights(r, j);
    const double coefficient =
        factor > 0 ? static_cast<double>(coefficients(r, j)) * row.coefficient_factor[model] / factor : 0.0;
    if (std::ranges::binary_search(row.biased, j) || std::ranges::binary_search(row.absent, j)) continue;
    magnitudes += (m.running_maximum && !m.normalised_weights ? 1 + coefficient : p + coefficient) * std::fabs(v);
    positive = positive || v > 0;
    negative = negative || v < 0;
  }
  const double enlarged = row.errors[model].enlarged * (1 + 0x1p-10);
  magnitudes *= m.normalised_weights ? (1 + 0x1p-10) / row.sum / (1 - row.errors[model].sum) : enlarged;
  if (magnitudes < m.largest_step && largest_result < m.largest_step) return finite;
  if (positive && !negative && !m.running_maximum) return finite | plus_infinity;
  if (negative && !positive && !m.running_maximum) return finite | minus_infinity;
  return finite | not_a_number | plus_infinity | minus_infinity;
}

}  // namespace nbx::oracle
