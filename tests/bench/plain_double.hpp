// The yardstick: attention in double as anybody would write it with Eigen, without radius, bound or special values.
#pragma once

#include <Eigen/Core>

namespace nbx::bench {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// o (Tq, Dv) from q (Tq, D), k (Tk, D), v (Tk, Dv).
Matrix plain_attention(const Matrix& q, const Matrix& k, const Matrix& v, double scale);

}  // namespace nbx::bench
