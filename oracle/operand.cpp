#include "oracle/operand.hpp"

#include <cmath>
#include <limits>

namespace nbx::oracle {

Operand load(const View& view, std::int64_t first, std::int64_t rows, std::int64_t columns) {
  Operand operand;
  operand.values.resize(rows, columns);
  operand.magnitudes.resize(rows, columns);
  operand.factors.assign(rows, 0.0);
  view.read(first * columns, {operand.values.data(), static_cast<std::size_t>(rows * columns)});
  for (std::int64_t r = 0; r < rows; ++r) {
    auto row = operand.values.row(r);
    // x - x is 0 for finite x and NaN otherwise.
    if (!((row - row).array() == 0).all()) {
      operand.special_rows.push_back(r);
      for (std::int64_t c = 0; c < columns; ++c) {
        if (std::isfinite(row(c))) continue;
        operand.non_finite.push_back({r, c, row(c)});
        row(c) = 0;
      }
    }
    const double largest = columns > 0 ? row.cwiseAbs().maxCoeff() : 0.0;
    if (largest == 0) {
      operand.magnitudes.row(r).setZero();
      continue;
    }
    int exponent = 0;
    std::frexp(largest, &exponent);
    operand.factors[r] = std::ldexp(1.0, exponent);
    operand.magnitudes.row(r) = (row.cwiseAbs() * std::ldexp(1.0, -exponent)).template cast<float>();
    operand.range.largest = std::fmax(operand.range.largest, largest);
    const double smallest =
        (row.array() == 0).select(std::numeric_limits<double>::infinity(), row.array().abs()).minCoeff();
    operand.range.smallest = operand.range.smallest == 0 ? smallest : std::fmin(operand.range.smallest, smallest);
  }
  return operand;
}

}  // namespace nbx::oracle
