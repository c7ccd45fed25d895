#include <algorithm>
#include <cmath>

#include "oracle/double_double.hpp"
#include "oracle/refined_row.hpp"

namespace nbx::oracle {
namespace {

using boost::multiprecision::cpp_int;

/// integer · 2^exponent, or a number that exceeds it by less than one unit if it was cut.
Refined rounded(const cpp_int& integer, int exponent, bool cut) {
  if (integer == 0 && !cut) return {.value = 0, .radius = 0, .low = 0, .low_radius = 0};
  const cpp_int magnitude = abs(integer);
  const int length = magnitude == 0 ? 0 : static_cast<int>(msb(magnitude)) + 1;
  const int first = std::max(length - 53, 0), second = std::max(length - 106, 0);
  const cpp_int high = magnitude >> first, low = (magnitude >> second) - (high << (first - second));
  const double sign = integer < 0 ? -1 : 1;
  const DoubleDouble sum = fast_two_sum(sign * std::ldexp(high.convert_to<double>(), first + exponent),
                                        sign * std::ldexp(low.convert_to<double>(), second + exponent));
  const bool exact = !cut && magnitude == (magnitude >> second) << second;
  // The bits beyond the 106th, and one unit where the integer itself was cut.
  const double low_radius = exact ? 0 : std::ldexp(1.0, second + exponent + 1);
  return {.value = sum.hi,
          .radius = (std::fabs(sum.lo) + low_radius) * (1 + 0x1p-52),
          .low = sum.lo,
          .low_radius = low_radius};
}

/// numerator · 2^-fixed_unit / denominator.
Refined quotient(const Fixed& numerator, std::int64_t denominator) {
  int halvings = 0;
  for (; denominator % 2 == 0; denominator /= 2) ++halvings;
  const cpp_int whole(numerator);
  if (whole % denominator == 0) return rounded(whole / denominator, -fixed_unit - halvings, false);
  constexpr int more = 128;  // bits of the quotient behind its binary point
  return rounded((whole << more) / denominator, -fixed_unit - halvings - more, true);
}

Fixed sum_of_group(const ExactRow& row, std::span<const double> values, std::size_t group) {
  Fixed sum = 0;
  for (std::size_t at = row.begin[group]; at < row.begin[group + 1]; ++at) sum += to_fixed(values[row.order[at]]);
  return sum;
}

std::int64_t size_of_group(const ExactRow& row, std::size_t group) {
  return static_cast<std::int64_t>(row.begin[group + 1] - row.begin[group]);
}

}  // namespace

std::optional<Refined> rational_mean(const ExactRow& row, std::span<const double> values) {
  const Fixed sum = sum_of_group(row, values, 0);
  const std::int64_t size = size_of_group(row, 0);
  for (std::size_t group = 1; group < row.groups(); ++group) {
    if (sum_of_group(row, values, group) * size != sum * size_of_group(row, group)) return std::nullopt;
  }
  return quotient(sum, size);
}

std::optional<Refined> rational_weight(const ExactRow& row) {
  if (row.groups() != 1) return std::nullopt;
  return quotient(Fixed(1) << fixed_unit, size_of_group(row, 0));
}

std::optional<Refined> rational_log_weight(const ExactRow& row) {
  if (row.keys.size() != 1) return std::nullopt;
  return Refined{.value = 0, .radius = 0, .low = 0, .low_radius = 0};
}

std::optional<Refined> rational_lse(const ExactRow& row) {
  if (row.keys.size() != 1) return std::nullopt;
  return rounded(cpp_int(row.maximum), -fixed_unit, false);
}

}  // namespace nbx::oracle
