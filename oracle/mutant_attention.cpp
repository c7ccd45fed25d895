#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>

#include "oracle/attention_rows.hpp"
#include "oracle/mutant.hpp"
#include "oracle/mutant_fault.hpp"

namespace nbx::oracle {
namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t block_rows = 64;
constexpr std::int64_t matrix_rows = 4;  // from here on one product of matrices is faster than a row after the other
constexpr std::int64_t strip_elements = 16384;

/// (rows, columns) of a view, from element `start` on.
Matrix matrix(const View& view, std::int64_t start, std::int64_t rows, std::int64_t columns) {
  Matrix values(rows, columns);
  view.read(start, std::span<double>(values.data(), static_cast<std::size_t>(values.size())));
  return values;
}

/// The last key that any row of batch entry b may see by its length.
std::int64_t last_key(const AttentionInput& input, std::int64_t b) {
  std::int64_t most = 0;
  for (std::int64_t i = 0; i < input.q.shape[2]; ++i) most = std::max(most, length_of(input, b, i));
  return most - 1;
}

/// One row: weights from scores, summed as the fault would have it.
struct Row {
  double maximum = -infinity;
  double sum = 0;
  double lse = -infinity;
  double factor = 1;  // what Σ w v is multiplied by
};

/// exp(score - maximum), 0 where the score is -inf: Eigen's exp ends at the smallest double there. In two steps, as
/// Eigen takes exp of one number after the other inside a selection.
Eigen::ArrayXd exp_from(const Eigen::Ref<const Eigen::ArrayXd>& scores, double maximum) {
  const Eigen::ArrayXd weights = (scores - maximum).exp();
  return (scores > -infinity).select(weights, 0.0);
}

class AttentionMutant {
 public:
  AttentionMutant(const AttentionInput& input, const Fault& fault, const HeadScales& scales)
      : input_(input),
        fault_(fault),
        scales_(scales),
        shape_(sizes_of(input)),
        extra_(fault.mutant == Mutant::extra_zero_key ? 1 : 0) {}

  std::vector<std::vector<double>> run() {
    std::vector<double> o(shape_.rows() * shape_.Dv), lse(shape_.rows());
    for (std::int64_t kv = 0; kv < shape_.B * shape_.Hk; ++kv) {
      const std::vector<std::int64_t> rows = rows_that_read(kv);
      for (std::size_t i = 0; i < rows.size(); i += block_rows) {
        block(kv, {rows.data() + i, std::min<std::size_t>(block_rows, rows.size() - i)}, o, lse);
      }
    }
    return {std::move(o), std::move(lse)};
  }

 private:
  /// All query rows, of all heads, that read the keys of KV head kv = b · Hk + head: each key is then decoded once for
  /// all of them.
  std::vector<std::int64_t> rows_that_read(std::int64_t kv) const {
    std::vector<std::int64_t> rows;
    for (std::int64_t h = 0; h < shape_.H; ++h) {
      const bool astray = fault_.mutant == Mutant::wrong_gqa_head && h == fault_.first;
      if ((astray ? fault_.second : kv_head(shape_, h)) != kv % shape_.Hk) continue;
      for (std::int64_t i = 0; i < shape_.Tq; ++i) rows.push_back((kv / shape_.Hk * shape_.H + h) * shape_.Tq + i);
    }
    return rows;
  }

  /// (rows, columns): `rows` keys or values from `begin` on, of KV head kv. A strip stays in the cache, where all of K
  /// at 65,536 keys would go through memory once for each mutant.
  Matrix strip(const View& view, std::int64_t kv, std::int64_t begin, std::int64_t rows) const {
    const std::int64_t columns = view.shape[3];
    return matrix(view, (kv * shape_.Tk + begin) * columns, rows, columns);
  }

  static std::int64_t strip_keys(const View& view) {
    return std::max<std::int64_t>(16, strip_elements / view.shape[3]);
  }

  /// Scores of a block before scale and bias, q · k: (rows, Tk) of `weights`.
  void multiply_keys(const Matrix& q, std::int64_t kv, Matrix& weights) const {
    const std::int64_t most = strip_keys(input_.k);
    for (std::int64_t begin = 0; begin < shape_.Tk; begin += most) {
      const std::int64_t keys = std::min(most, shape_.Tk - begin);
      const Matrix k = strip(input_.k, kv, begin, keys);
      if (q.rows() >= matrix_rows) {
        weights.middleCols(begin, keys).noalias() =
            q.leftCols(fault_.head_dim) * k.leftCols(fault_.head_dim).transpose();
        continue;
      }
      for (std::int64_t r = 0; r < q.rows(); ++r) {
        weights.row(r).segment(begin, keys).transpose().noalias() =
            k.leftCols(fault_.head_dim) * q.row(r).head(fault_.head_dim).transpose();
      }
    }
    if (fault_.mutant != Mutant::swapped_key_tiles) return;
    const std::int64_t a = fault_.first * fault_.tile, c = fault_.second * fault_.tile;
    const std::int64_t keys = std::min(fault_.tile, last_key(input_, kv / shape_.Hk) + 1 - std::max(a, c));
    if (keys > 0) weights.middleCols(a, keys).swap(weights.middleCols(c, keys));
  }

  /// Σ w v of a block, (rows, Dv). The extra key, if there is one, has a value of zero.
  Matrix multiply_values(const Matrix& weights, std::int64_t kv) const {
    const bool stale = fault_.mutant == Mutant::stale_value_row && fault_.second <= last_key(input_, kv / shape_.Hk);
    Matrix sums = Matrix::Zero(weights.rows(), shape_.Dv);
    const std::int64_t most = strip_keys(input_.v);
    for (std::int64_t begin = 0; begin < shape_.Tk; begin += most) {
      const std::int64_t keys = std::min(most, shape_.Tk - begin);
      Matrix v = strip(input_.v, kv, begin, keys);
      if (stale && fault_.first >= begin && fault_.first < begin + keys) {
        v.row(fault_.first - begin) = strip(input_.v, kv, fault_.second, 1);
      }
      const std::vector<Irregular> irregular = take_irregular(v);
      const bool as_matrix = weights.rows() >= matrix_rows;
      if (as_matrix) sums.noalias() += weights.middleCols(begin, keys) * v;
      for (std::int64_t r = 0; r < weights.rows(); ++r) {
        const auto w = weights.row(r).segment(begin, keys);
        if (!as_matrix) sums.row(r).noalias() += w * v;
        for (const Irregular& value : irregular) {
          if (w(value.key) > 0) sums(r, value.column) += w(value.key) * value.value;
        }
      }
    }
    return sums;
  }

  /// A value that is no number, which shows in the rows that give its key a weight.
  struct Irregular {
    std::int64_t key, column;
    double value;
  };

  static std::vector<Irregular> take_irregular(Matrix& v) {
    std::vector<Irregular> taken;
    if (((v.array() - v.array()) == 0).all()) return taken;
    for (std::int64_t j = 0; j < v.rows(); ++j) {
      for (std::int64_t d = 0; d < v.cols(); ++d) {
        if (std::isfinite(v(j, d))) continue;
        taken.push_back({j, d, v(j, d)});
        v(j, d) = 0;
      }
    }
    return taken;
  }

  /// `rows` read the keys of KV head kv.
  void block(std::int64_t kv, std::span<const std::int64_t> rows, std::vector<double>& o,
             std::vector<double>& lse) const {
    const auto count = static_cast<std::int64_t>(rows.size());
    Matrix q(count, shape_.D);
    for (std::int64_t r = 0; r < count; ++r) {
      input_.q.read(rows[r] * shape_.D, std::span<double>(q.row(r).data(), static_cast<std::size_t>(shape_.D)));
    }
    Matrix weights(count, shape_.Tk + extra_);  // scores first; the extra key comes last
    if (extra_ == 1) weights.col(shape_.Tk).setConstant(-infinity);
    multiply_keys(q, kv, weights);
    std::vector<Row> results(rows.size());
    for (std::int64_t r = 0; r < count; ++r) {
      const std::int64_t head = rows[r] / shape_.Tq;
      score(kv, head % shape_.H, rows[r] % shape_.Tq, weights.row(r).data());
      results[r] = weigh(weights.row(r).data());
    }
    Matrix sums = multiply_values(weights, kv);
    const double value_scale = scales_.of_value(kv % shape_.Hk);
    for (std::int64_t r = 0; r < count; ++r) {
      if (rows[r] == fault_.zero_row) {
        sums.row(r).setZero();
        results[r].lse = 0;
      }
      Eigen::Map<Eigen::RowVectorXd>(o.data() + rows[r] * shape_.Dv, shape_.Dv) =
          sums.row(r) * (results[r].factor * value_scale);
      lse[rows[r]] = results[r].lse;
    }
  }

  /// From q·k to scores, in place; -inf where the key is hidden or left out.
  void score(std::int64_t kv, std::int64_t h, std::int64_t i, double* row) const {
    const std::int64_t b = kv / shape_.Hk, visible = visible_keys(input_, b, i);
    const double scale = fault_.scale * scales_.of_key(kv % shape_.Hk);
    const bool ignore = fault_.mutant == Mutant::ignore_query_and_key;
    const BiasRow bias = input_.bias.has_value() ? bias_row(*input_.bias, b, h, i) : BiasRow{};
    for (std::int64_t j = 0; j < visible; ++j) {
      row[j] = ignore ? 0 : row[j] * scale;
      if (!input_.bias.has_value()) continue;
      const double shift = input_.bias->at(bias.start + j * bias.step);
      row[j] = shift == -infinity ? -infinity : row[j] + shift;
    }
    std::fill(row + visible, row + shape_.Tk, -infinity);
    std::fill(row + std::min(fault_.hidden_begin, shape_.Tk), row + std::min(fault_.hidden_end, shape_.Tk), -infinity);
    const std::int64_t last = length_of(input_, b, i) - 1;
    if (fault_.mutant == Mutant::drop_last_key && last >= 0) row[last] = -infinity;
    if (extra_ == 1 && visible > 0 && visible == last + 1) row[shape_.Tk] = 0;
  }

  /// From scores to weights, in place, with what divides them.
  Row weigh(double* row) const {
    const std::int64_t keys = shape_.Tk + extra_;
    auto scores = Eigen::Map<Eigen::ArrayXd>(row, keys);
    Row result;
    bool spoilt = false;  // a NaN or +inf
    for (std::int64_t j = 0; j < keys; ++j) {
      spoilt = spoilt || !(row[j] < infinity);
      result.maximum = row[j] > result.maximum ? row[j] : result.maximum;
    }
    if (spoilt) return {.maximum = nan, .sum = nan, .lse = nan, .factor = nan};
    if (result.maximum == -infinity) {
      scores.setZero();
      return {.factor = 0};
    }
    if (fault_.mutant == Mutant::no_rescale) return weigh_by_tiles(row);
    if (fault_.mutant == Mutant::unweighted_split_merge) return weigh_by_splits(row);
    scores = exp_from(scores, result.maximum);
    result.sum = scores.sum();
    result.factor = 1 / result.sum;
    result.lse = std::log(result.sum) + (fault_.mutant == Mutant::lse_without_max ? 0 : result.maximum);
    return result;
  }

  /// Σ and l keep the terms of earlier tiles as they were when the maximum moves.
  Row weigh_by_tiles(double* row) const {
    Row result;
    for (std::int64_t begin = 0; begin < shape_.Tk; begin += fault_.tile) {
      auto tile = Eigen::Map<Eigen::ArrayXd>(row + begin, std::min(fault_.tile, shape_.Tk - begin));
      result.maximum = std::max(result.maximum, tile.maxCoeff());
      if (result.maximum == -infinity) {
        tile.setZero();
      } else {
        tile = exp_from(tile, result.maximum);
      }
      result.sum += tile.sum();
    }
    result.factor = 1 / result.sum;
    result.lse = result.maximum + std::log(result.sum);
    return result;
  }

  /// The plain average over the splits that hold a counted key, of O and of LSE (which then stands for as many).
  Row weigh_by_splits(double* row) const {
    double filled = 0, lse = 0;
    for (std::int64_t begin = 0; begin < shape_.Tk; begin += fault_.split) {
      auto split = Eigen::Map<Eigen::ArrayXd>(row + begin, std::min(fault_.split, shape_.Tk - begin));
      const double maximum = split.maxCoeff();
      if (maximum == -infinity) {
        split.setZero();
        continue;
      }
      split = exp_from(split, maximum);
      const double sum = split.sum();
      split /= sum;
      lse += maximum + std::log(sum);
      ++filled;
    }
    return {.sum = filled, .lse = lse / filled + std::log(filled), .factor = 1 / filled};
  }

  const AttentionInput& input_;
  Fault fault_;
  HeadScales scales_;
  AttentionSizes shape_;
  std::int64_t extra_;
};

}  // namespace

std::vector<std::vector<double>> mutate(const AttentionInput& input, Mutant mutant, std::uint64_t position,
                                        const HeadScales& scales) {
  const std::optional<Fault> fault = plan(input, mutant, Draw(position, mutant));
  if (!fault.has_value()) return {};
  return AttentionMutant(input, *fault, scales).run();
}

}  // namespace nbx::oracle
