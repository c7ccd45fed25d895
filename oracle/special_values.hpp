// What values that are not finite, and sums past fp32's range, make of the elements of a row with counted scores.
#pragma once

#include <cstdint>
#include <vector>

#include "oracle/attention_block.hpp"
#include "oracle/reference.hpp"

namespace nbx::oracle {

/// Classes that a sum may have whose addends may have classes a and b (finite, NaN, ±Inf).
std::uint8_t classes_of_sum(std::uint8_t a, std::uint8_t b);

/// The classes of each output column of row r, by the table of special values. Without non-finite values: finite.
class SpecialColumns {
 public:
  SpecialColumns(const AttentionBlock& block, std::int64_t r, bool propagates);
  std::uint8_t classes(std::size_t model, std::int64_t column) const {
    return classes_.empty() ? static_cast<std::uint8_t>(finite) : classes_[model * columns_ + column];
  }

 private:
  std::size_t columns_;
  std::vector<std::uint8_t> classes_;  // [models][Dv]
};

/// The classes that the finite addends of column d of row r may give where a partial sum of P·V, or the result of at
/// most `largest_result`, may leave fp32's range under `model`; finite alone where it cannot.
std::uint8_t overflow_classes(const AttentionBlock& block, std::int64_t r, std::size_t model, std::int64_t d,
                              double largest_result);

}  // namespace nbx::oracle
