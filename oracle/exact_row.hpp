// One row of the definition with its scores exact: they are sums of products of binary fractions.
#pragma once

#include <boost/multiprecision/cpp_int.hpp>
#include <cstdint>
#include <vector>

#include "oracle/reference.hpp"

namespace nbx::oracle {

/// An integer number of 2^-fixed_unit. A product of three fp32 numbers (scale, query, key) is a multiple of 2^-447
/// below 2^384; sums of 65,536 of them, and fp32 biases, stay within 850 bits.
constexpr int fixed_unit = 448;
using Fixed = boost::multiprecision::number<boost::multiprecision::cpp_int_backend<
    1024, 1024, boost::multiprecision::signed_magnitude, boost::multiprecision::unchecked, void>>;

/// Exact for multiples of 2^-448 below 2^500.
Fixed to_fixed(double value);

struct ExactRow {
  bool base_two = false;           // weights are 2^score
  bool regular = true;             // no counted score is NaN or +inf, and one is finite
  std::vector<std::int64_t> keys;  // counted keys of finite score, rising
  std::vector<Fixed> scores;       // of these keys
  Fixed maximum;                   // of scores

  /// Places in `keys`, grouped by equal score: group g is order[begin[g]] … order[begin[g + 1] - 1].
  std::vector<std::size_t> order, begin;
  std::size_t groups() const { return begin.size() - 1; }
};

/// Row (b·H + h)·Tq + i of attention.
ExactRow exact_row(const AttentionInput& input, std::int64_t row);
/// The softmax row that holds flat element `element` of x: keys are places along the axis.
ExactRow exact_row(const SoftmaxInput& input, std::int64_t element);

/// How a softmax element lies in its row: the row's first element, the step along it, its length.
struct SoftmaxRow {
  std::int64_t start, step, length;
};
SoftmaxRow softmax_row(const SoftmaxInput& input, std::int64_t element);

}  // namespace nbx::oracle
