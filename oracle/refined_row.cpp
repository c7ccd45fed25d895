#include "oracle/refined_row.hpp"

#include <cmath>
#include <limits>

#include "oracle/wide.hpp"

namespace nbx::oracle {
namespace {

template <class Real>
class RefinedRowOf final : public RefinedRow {
 public:
  explicit RefinedRowOf(const ExactRow& row) : row_(row), weights_(row.scores.size()) {
    for (std::size_t place = 0; place < weights_.size(); ++place) {
      const Real difference = natural(Fixed(row.scores[place] - row.maximum));
      weights_[place] = to_double(difference) < -WideTraits<Real>::cutoff ? Real(0.0) : exponential(difference);
      sum_ = sum_ + weights_[place];
    }
    log_sum_ = logarithm(sum_, &log_error_);
    // log of a sum whose relative error is e <= 1/2 is off by at most 2 e.
    log_error_ = (log_error_ + 2 * sum_error()) * outward;
  }

  Refined mean(std::span<const double> values) const override {
    const Weighted sum = weighted(values);
    return divided(sum.numerator, sum.magnitude, sum.largest);
  }

  Refined weighted_sum(std::span<const double> values) const override {
    const Weighted sum = weighted(values);
    return rounded(sum.numerator, 2 * numerator_error(sum.magnitude, sum.largest));
  }

  Refined sum() const override { return rounded(sum_, 2 * sum_error() * to_double(sum_)); }

  Refined maximum() const override {
    const Real maximum = natural(row_.maximum);
    return rounded(maximum, 8 * roundoff<Real>() * std::fabs(to_double(maximum)));
  }

  Refined weight(std::size_t place) const override { return divided(weights_[place], to_double(weights_[place]), 1); }

  Refined log_weight(std::size_t place) const override {
    const Real difference = natural(Fixed(row_.scores[place] - row_.maximum));
    return rounded(Real(difference - log_sum_), log_error_ + 8 * roundoff<Real>() * std::fabs(to_double(difference)) +
                                                    4 * roundoff<Real>() * std::fabs(to_double(log_sum_)));
  }

  Refined lse() const override {
    const Real maximum = natural(row_.maximum);
    return rounded(Real(maximum + log_sum_), log_error_ + 8 * roundoff<Real>() * std::fabs(to_double(maximum)) +
                                                 4 * roundoff<Real>() * std::fabs(to_double(log_sum_)));
  }

 private:
  static constexpr double outward = 1 + 0x1p-40;  // over the roundings of the radius itself
  // Below the smallest normal double a conversion may lose its digits.
  static constexpr double floor = 0x1p-1020;

  /// An exponent of e: those of two are multiplied by ln 2, which costs 5 roundoffs beside the 3 of the conversion.
  Real natural(const Fixed& score) const {
    const Real exponent = to_real<Real>(score, -fixed_unit);
    return row_.base_two ? Real(exponent * ln2<Real>()) : exponent;
  }

  struct Weighted {
    Real numerator{0.0};                // Σ w v
    double magnitude = 0, largest = 0;  // Σ w |v| and max |v|
  };
  Weighted weighted(std::span<const double> values) const {
    Weighted out;
    for (std::size_t place = 0; place < weights_.size(); ++place) {
      out.numerator = out.numerator + weights_[place] * Real(values[place]);
      out.magnitude += to_double(weights_[place]) * std::fabs(values[place]);
      out.largest = std::max(out.largest, std::fabs(values[place]));
    }
    return out;
  }

  double count() const { return static_cast<double>(weights_.size()); }
  /// Relative errors: of each weight that was not cut off, beside those of a sum over all of them.
  double sum_error() const {
    return exponential_error<Real>() + 2 * count() * roundoff<Real>() + count() * WideTraits<Real>::tail;
  }

  /// Of Σ w v, from Σ w |v| and max |v|.
  double numerator_error(double magnitude, double largest) const {
    const double relative = exponential_error<Real>() + 2 * (count() + 2) * roundoff<Real>();
    return relative * magnitude + count() * (WideTraits<Real>::tail * largest) + count() * WideTraits<Real>::underflow;
  }

  /// With L = Σ w >= 1/2 and errors dN, dL of numerator and sum: |N'/L' - N/L| <= (dN + |N'/L'| dL) / L, and the
  /// division's own. A factor of 2 covers the second order.
  Refined divided(const Real& numerator, double magnitude, double largest) const {
    const Real quotient = numerator / sum_;
    const double size = std::fabs(to_double(quotient)), total = to_double(sum_);
    return rounded(quotient, 2 * (numerator_error(magnitude, largest) + size * sum_error() * total) / total +
                                 2 * roundoff<Real>() * size);
  }

  static Refined rounded(const Real& answer, double error) {
    const double value = to_double(answer);
    const Real rest = answer - Real(value);
    const double low = to_double(rest);
    const double left = std::fabs(to_double(Real(rest - Real(low))));
    const double low_radius = (error + left) * outward + floor;
    return {.value = value,
            .radius = (std::fabs(low) + low_radius) * outward + floor,
            .low = low,
            .low_radius = low_radius};
  }

  const ExactRow& row_;
  std::vector<Real> weights_;
  Real sum_{0.0}, log_sum_{0.0};
  double log_error_ = 0;
};

}  // namespace

std::unique_ptr<RefinedRow> refine_row(const ExactRow& row, int bits) {
  // 64 bits more than asked for: exp and the sums lose at most 40, see exponential_error.
  if (bits <= 106) return std::make_unique<RefinedRowOf<DoubleDouble>>(row);
  if (bits <= 113) return std::make_unique<RefinedRowOf<BinaryFloat<113 + 64>>>(row);
  if (bits <= 256) return std::make_unique<RefinedRowOf<BinaryFloat<256 + 64>>>(row);
  if (bits <= 512) return std::make_unique<RefinedRowOf<BinaryFloat<512 + 64>>>(row);
  if (bits <= 1024) return std::make_unique<RefinedRowOf<BinaryFloat<1024 + 64>>>(row);
  if (bits <= 2048) return std::make_unique<RefinedRowOf<BinaryFloat<2048 + 64>>>(row);
  return std::make_unique<RefinedRowOf<BinaryFloat<4096 + 64>>>(row);
}

}  // namespace nbx::oracle
