// What the definition makes of one row, at one precision beyond double.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "oracle/exact_row.hpp"
#include "oracle/reference.hpp"

namespace nbx::oracle {

/// The weights exp(s - m) of a regular row, their sum, and what follows from both, each with a proven radius.
/// `row` must outlive it.
class RefinedRow {
 public:
  virtual ~RefinedRow() = default;
  /// Σ w_j v_j / Σ w_j; values[place] belongs to row.keys[place], each finite and of an fp32 format.
  virtual Refined mean(std::span<const double> values) const = 0;
  /// Σ w_j v_j, Σ w and m: what a range of keys leaves to be merged with others.
  virtual Refined weighted_sum(std::span<const double> values) const = 0;
  virtual Refined sum() const = 0;
  virtual Refined maximum() const = 0;
  /// w / Σ w of one key.
  virtual Refined weight(std::size_t place) const = 0;
  /// s - LSE of one key.
  virtual Refined log_weight(std::size_t place) const = 0;
  /// m + log Σ w.
  virtual Refined lse() const = 0;
};

/// At least `bits` of precision: 106, or the next of 113, 256, 512, 1024, 2048, 4096. Above those: 4096.
std::unique_ptr<RefinedRow> refine_row(const ExactRow& row, int bits);

/// Answers that are rational. exp of distinct rational numbers are linearly independent over the rationals
/// (Lindemann-Weierstrass), so Σ_g e^{s_g} (V_g - c n_g) = 0, with V_g the sum of the values and n_g the number of the
/// keys of score s_g, holds if and only if V_g = c n_g in each group. So exactly these rows have a rational mean c, and
/// the LSE is rational where there is a single key alone. All else is irrational, and a refinement must decide it.
std::optional<Refined> rational_mean(const ExactRow& row, std::span<const double> values);
std::optional<Refined> rational_weight(const ExactRow& row);
std::optional<Refined> rational_log_weight(const ExactRow& row);
std::optional<Refined> rational_lse(const ExactRow& row);

}  // namespace nbx::oracle
