// A block of query rows of one KV head: scores, weights and what both are worth, then P·V and its errors.
#pragma once

#include <cstdint>
#include <vector>

#include "oracle/attention_head.hpp"
#include "oracle/row_errors.hpp"

namespace nbx::oracle {

/// A query row after its scores.
struct BlockRow {
  enum class State : std::uint8_t {
    counted,   // at least one finite counted score
    masked,    // no finite counted score: O = +0, LSE = -inf
    poisoned,  // a counted score is NaN or +inf
  };
  State state = State::masked;
  std::int64_t keys = 0;                     // visible
  double maximum = 0, sum = 0;               // m, l
  std::vector<std::int64_t> biased, absent;  // visible keys of bias -inf; of score -inf otherwise
  std::vector<RowErrors> errors;             // per model
  std::vector<double> coefficient_factor;    // per model; what the row of `coefficients` was divided by
  std::vector<std::uint8_t> may_vanish;      // [models][special values]: the kernel's weight there may be 0
  std::vector<std::uint8_t> scores_open;     // per model: a score may leave fp32's range
};

/// Holds the storage of one block after the other.
struct AttentionBlock {
  const AttentionHead* head = nullptr;
  std::int64_t first = 0, count = 0;  // rows of the head's group
  std::int64_t keys = 0;              // the most that a row of the block sees
  std::vector<BlockRow> rows;         // [count]
  // Of `height` rows and Tk keys, of which the first `count` and `keys` count.
  MatrixD weights;                    // (height, Tk): p; before that the scores
  std::vector<MatrixF> coefficients;  // per model (height, Tk): coefficient · value factor / coefficient_factor
  MatrixD sums;                       // (height, Dv): sum of p v
  std::vector<MatrixD> errors;        // per model (height, Dv): bound on the error of that sum in P·V

  /// For up to `height` rows of heads of `shape`, under `models` models.
  AttentionBlock(const AttentionShape& shape, std::size_t models, std::int64_t height);
  void compute(const AttentionHead& head, std::int64_t first, std::int64_t count);

  /// The arrays of one row that its errors follow from.
  struct Scratch {
    std::vector<double> score, distance, bias, growth, coefficient;
    std::vector<std::int64_t> excluded;
  };
  RowScores row_scores(std::int64_t r, const Scratch& scratch, std::size_t model) const;
  Scratch scratch;  // of the last row, growth and coefficients of the last model

 private:
  std::vector<MatrixF> products_;  // per profile (height, Tk)
  std::vector<double> query_factors_;

  /// RowScores::fixed_offset.
  double fixed_offset(std::int64_t r, std::size_t model) const;
  void multiply_scores(const Operand& query);
  void settle_scores(const Operand& query, std::int64_t r);
  void settle_weights(std::int64_t r);
  void settle_errors(std::int64_t r);
  void multiply_values();
};

/// The score of query row r (raw elements) at `key` where one of both holds a non-finite element: NaN or ±inf, as IEEE
/// arithmetic has it, whatever the order.
double special_score(const AttentionHead& head, std::int64_t row, std::int64_t key, double bias);

}  // namespace nbx::oracle
