#include "plain_double.hpp"

#include <cmath>

namespace nbx::bench {

Matrix plain_attention(const Matrix& q, const Matrix& k, const Matrix& v, double scale) {
  Matrix p = q * k.transpose() * scale;  // (Tq, Tk)
  for (Eigen::Index i = 0; i < p.rows(); ++i) {
    const double m = p.row(i).maxCoeff();
    for (Eigen::Index j = 0; j < p.cols(); ++j) p(i, j) = std::exp(p(i, j) - m);
    p.row(i) /= p.row(i).sum();
  }
  return p * v;
}

}  // namespace nbx::bench
