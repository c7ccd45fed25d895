#include "oracle/exact_row.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "oracle/attention_rows.hpp"

namespace nbx::oracle {
namespace {

/// value = mantissa · 2^exponent.
struct Binary {
  std::int64_t mantissa;
  int exponent;
};

Binary binary(double value) {
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);
  return {static_cast<std::int64_t>(std::ldexp(fraction, 53)), exponent - 53};
}

Fixed shifted(const Binary& number, int unit) {
  const int shift = number.exponent + unit;
  if (shift >= 0) return Fixed(number.mantissa) << shift;
  return Fixed(number.mantissa / (std::int64_t{1} << std::min(-shift, 62)));  // only zeros are cut
}

void finish(ExactRow& row) {
  row.regular = row.regular && !row.scores.empty();
  if (!row.regular) return;
  row.order.resize(row.scores.size());
  std::iota(row.order.begin(), row.order.end(), std::size_t{0});
  std::sort(row.order.begin(), row.order.end(),
            [&](std::size_t a, std::size_t b) { return row.scores[a] < row.scores[b]; });
  row.begin.push_back(0);
  for (std::size_t place = 1; place < row.order.size(); ++place) {
    if (row.scores[row.order[place]] != row.scores[row.order[place - 1]]) row.begin.push_back(place);
  }
  row.begin.push_back(row.order.size());
  row.maximum = row.scores[row.order.back()];
}

/// The score where an operand is not finite, by the rules of IEEE 754. Finite parts cannot overflow a double.
double irregular_score(const std::vector<double>& q, const View& k, std::int64_t key_start, double scale, double bias) {
  double sum = 0;
  for (std::size_t d = 0; d < q.size(); ++d) sum += q[d] * k.at(key_start + static_cast<std::int64_t>(d));
  return scale * sum + bias;
}

}  // namespace

Fixed to_fixed(double value) { return shifted(binary(value), fixed_unit); }

ExactRow exact_row(const AttentionInput& input, std::int64_t row) {
  const AttentionSizes shape = sizes_of(input);
  const std::int64_t i = row % shape.Tq, h = row / shape.Tq % shape.H, b = row / shape.Tq / shape.H;
  std::vector<double> q(shape.D);
  bool q_finite = true;
  for (std::int64_t d = 0; d < shape.D; ++d) {
    q[d] = input.q.at(row * shape.D + d);
    q_finite = q_finite && std::isfinite(q[d]);
  }
  const double scale = scale_of(input);
  const Binary scale_parts = binary(scale);
  // Products of two operands are multiples of 2^-298 of at most 48 bits, exact in double. With an fp32 scale, a
  // multiple of 2^-149, the dot product's unit of 2^-298 becomes 2^-447.
  constexpr int product_unit = 298;
  const BiasRow bias = input.bias.has_value() ? bias_row(*input.bias, b, h, i) : BiasRow{};

  ExactRow result;
  result.base_two = input.base_two;
  const std::int64_t visible = visible_keys(input, b, i);
  for (std::int64_t j = 0; j < visible; ++j) {
    const double shift = input.bias.has_value() ? input.bias->at(bias.start + j * bias.step) : 0;
    if (shift == -INFINITY) continue;
    const std::int64_t key_start = ((b * shape.Hk + kv_head(shape, h)) * shape.Tk + j) * shape.D;
    Fixed dot = 0;
    bool finite = q_finite && std::isfinite(scale) && std::isfinite(shift);
    for (std::int64_t d = 0; finite && d < shape.D; ++d) {
      const double key = input.k.at(key_start + d);
      finite = std::isfinite(key);
      const double product = q[d] * key;
      if (finite && product != 0) dot += shifted(binary(product), product_unit);
    }
    if (!finite) {
      const double score = irregular_score(q, input.k, key_start, scale, shift);
      if (score == -INFINITY) continue;
      result.regular = false;
      break;
    }
    // scale_parts has 53 bits of which the last 29 are zero; the shift takes the unit from 2^-298 to 2^-448.
    const std::int64_t scale_mantissa = scale_parts.mantissa / (std::int64_t{1} << 29);
    const int scale_shift = fixed_unit - product_unit + scale_parts.exponent + 29;
    Fixed score = dot * scale_mantissa;
    if (scale_shift >= 0) {
      score <<= scale_shift;
    } else {
      score /= Fixed(1) << -scale_shift;  // a subnormal scale: only zeros are cut
    }
    result.keys.push_back(j);
    result.scores.push_back(score + to_fixed(shift));
  }
  finish(result);
  return result;
}

SoftmaxRow softmax_row(const SoftmaxInput& input, std::int64_t element) {
  const int rank = static_cast<int>(input.x.shape.size());
  const int axis = input.axis < 0 ? input.axis + rank : input.axis;
  std::int64_t step = 1;
  for (int later = axis + 1; later < rank; ++later) step *= input.x.shape[later];
  const std::int64_t length = input.x.shape[axis];
  return {.start = element / (step * length) * (step * length) + element % step, .step = step, .length = length};
}

ExactRow exact_row(const SoftmaxInput& input, std::int64_t element) {
  const SoftmaxRow place = softmax_row(input, element);
  ExactRow result;
  for (std::int64_t j = 0; j < place.length; ++j) {
    const double x = input.x.at(place.start + j * place.step);
    if (x == -INFINITY) continue;
    if (!std::isfinite(x)) {
      result.regular = false;
      break;
    }
    result.keys.push_back(j);
    result.scores.push_back(to_fixed(x));
  }
  finish(result);
  return result;
}

}  // namespace nbx::oracle
