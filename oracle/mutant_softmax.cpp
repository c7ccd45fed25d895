#include <Eigen/Core>
#include <cmath>
#include <limits>

#include "oracle/mutant.hpp"
#include "oracle/mutant_draw.hpp"

namespace nbx::oracle {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

struct Rows {
  std::int64_t outer = 1, length = 1, inner = 1;
  std::int64_t count() const { return outer * inner; }
  std::int64_t start(std::int64_t row) const { return row / inner * length * inner + row % inner; }
};

Rows rows_of(const SoftmaxInput& input) {
  const auto rank = static_cast<int>(input.x.shape.size());
  const int axis = input.axis < 0 ? input.axis + rank : input.axis;
  Rows rows{.length = input.x.shape[axis]};
  for (int a = 0; a < axis; ++a) rows.outer *= input.x.shape[a];
  for (int a = axis + 1; a < rank; ++a) rows.inner *= input.x.shape[a];
  return rows;
}

bool applies(const SoftmaxInput& input, const Rows& rows, Mutant mutant) {
  switch (mutant) {
    case Mutant::drop_last_key:
    case Mutant::drop_tile:
    case Mutant::no_rescale:
    case Mutant::ignore_query_and_key:
      return rows.length > 1;
    case Mutant::extra_zero_key:
      return rows.length > 0;
    case Mutant::zero_row:
      return input.log ? rows.length > 1 : rows.length > 0;  // log-softmax of one element is 0
    case Mutant::lse_without_max:
      return input.log;
    case Mutant::scale_missing:
    case Mutant::scale_twice:
    case Mutant::half_head_dim:
    case Mutant::unweighted_split_merge:
    case Mutant::swapped_key_tiles:
    case Mutant::stale_value_row:
    case Mutant::wrong_gqa_head:
      return false;
  }
  return false;
}

/// exp(x - maximum), 0 where x is -inf: Eigen's exp ends at the smallest double there.
Eigen::ArrayXd exp_from(const Eigen::ArrayXd& x, double maximum) {
  return (x > -infinity).select((x - maximum).exp(), 0.0);
}

/// The maximum that the kernel subtracts, and the sum that it divides by.
struct Sum {
  double maximum, sum;
};

Sum sum_of(const Eigen::ArrayXd& x, Mutant mutant, std::int64_t tile, std::int64_t dropped) {
  const std::int64_t length = x.size();
  double maximum = x.maxCoeff();
  if (mutant == Mutant::extra_zero_key) maximum = std::max(maximum, 0.0);
  if (mutant == Mutant::no_rescale) {  // terms of earlier tiles stay as they were when the maximum moves
    double running = -infinity, sum = 0;
    for (std::int64_t begin = 0; begin < length; begin += tile) {
      const auto part = x.segment(begin, std::min(tile, length - begin));
      running = std::max(running, part.maxCoeff());
      if (running > -infinity) sum += exp_from(part, running).sum();
    }
    return {maximum, sum};
  }
  const Eigen::ArrayXd weights = exp_from(x, maximum);
  double sum = weights.sum();
  if (mutant == Mutant::drop_last_key) sum = weights.head(length - 1).sum();
  if (mutant == Mutant::extra_zero_key) sum += std::exp(-maximum);
  if (mutant == Mutant::drop_tile) {
    const std::int64_t begin = dropped * tile, end = std::min(begin + tile, length);
    sum = weights.head(begin).sum() + weights.tail(length - end).sum();
  }
  return {maximum, sum};
}

}  // namespace

std::vector<std::vector<double>> mutate(const SoftmaxInput& input, Mutant mutant, std::uint64_t position) {
  const Rows rows = rows_of(input);
  if (rows.count() == 0 || !applies(input, rows, mutant)) return {};
  Draw draw(position, mutant);
  const std::int64_t tile = tile_width(rows.length), tiles = (rows.length + tile - 1) / tile;
  const std::int64_t dropped = draw.between(0, tiles - 1), zero_row = draw.between(0, rows.count() - 1);
  std::vector<double> given(rows.count() * rows.length), y(given.size());
  input.x.read(0, given);
  for (std::int64_t row = 0; row < rows.count(); ++row) {
    using Strided = Eigen::Map<Eigen::ArrayXd, 0, Eigen::InnerStride<>>;
    const Strided x(given.data() + rows.start(row), rows.length, Eigen::InnerStride<>(rows.inner));
    Strided out(y.data() + rows.start(row), rows.length, Eigen::InnerStride<>(rows.inner));
    const auto length = static_cast<double>(rows.length);
    if (mutant == Mutant::zero_row && row == zero_row) {
      out.setZero();
    } else if (mutant == Mutant::ignore_query_and_key) {
      out.setConstant(input.log ? -std::log(length) : 1 / length);
    } else {
      const Sum sum = sum_of(x, mutant, tile, dropped);
      if (input.log) {
        out = x - (mutant == Mutant::lse_without_max ? 0 : sum.maximum) - std::log(sum.sum);
      } else {
        out = exp_from(x, sum.maximum) / sum.sum;
      }
    }
  }
  return {std::move(y)};
}

}  // namespace nbx::oracle
