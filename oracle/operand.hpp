// Rows of q, k or v, decoded once and laid out for matrix products: exact doubles, magnitudes in fp32 scaled to at most
// 1, and what is not finite set aside.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <vector>

#include "oracle/error_model.hpp"
#include "oracle/view.hpp"

namespace nbx::oracle {

using MatrixD = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using MatrixF = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

struct NonFinite {
  std::int64_t row, column;
  double value;  // NaN or ±Inf
};

struct Operand {
  MatrixD values;                     // (rows, columns); 0 where not finite
  MatrixF magnitudes;                 // (rows, columns); |values| / factor, at most 1, rounded to nearest
  std::vector<double> factors;        // [rows]; a power of two above the row's largest magnitude, 0 for a row of zeros
  std::vector<NonFinite> non_finite;  // in row-major order
  std::vector<std::int64_t> special_rows;  // rows that hold one, rising
  OperandRange range;
};

/// `rows` rows of `columns` elements from element first · columns of the view on.
Operand load(const View& view, std::int64_t first, std::int64_t rows, std::int64_t columns);

}  // namespace nbx::oracle
