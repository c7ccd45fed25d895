// Filling the outputs of an evaluation.
#pragma once

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "oracle/reference.hpp"

namespace nbx::oracle {

/// All elements 0, no class accepted yet.
inline Evaluation::Output make_output(std::string name, std::vector<std::int64_t> shape, std::size_t arithmetics) {
  Evaluation::Output output;
  output.name = std::move(name);
  std::int64_t elements = 1;
  for (const std::int64_t extent : shape) elements *= extent;
  output.shape = std::move(shape);
  output.expected.value.assign(elements, 0.0);
  output.expected.radius.assign(elements, 0.0);
  output.expected.classes.assign(elements, 0);
  output.bounds.resize(arithmetics);
  for (Bounds& bounds : output.bounds) {
    bounds.bound.assign(elements, 0.0);
    bounds.classes.assign(elements, 0);
    bounds.open.assign(elements, 0);
  }
  return output;
}

/// An element known exactly, for every arithmetic.
inline void fill_element(Evaluation::Output& output, std::int64_t element, double value, std::uint8_t classes) {
  output.expected.value[element] = value;
  output.expected.radius[element] = 0;
  output.expected.classes[element] = classes;
  for (Bounds& bounds : output.bounds) {
    bounds.bound[element] = 0;
    bounds.classes[element] = classes;
    bounds.open[element] = 0;
  }
}

/// What stands for an element of these classes: its finite value, or one that is not finite.
inline double value_of(std::uint8_t classes, double finite_value) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (classes & finite) return finite_value;
  if (classes & plus_infinity) return infinity;
  if (classes & minus_infinity) return -infinity;
  return std::numeric_limits<double>::quiet_NaN();
}

/// Gives what the other parts leave of `bound` to the output's roundings; where they exceed it by the roundings of
/// their own sums, scales them down.
inline void settle_rest(BoundParts& parts, double bound) {
  const double others = parts.scores + parts.weights + parts.sum + parts.accumulation;
  if (others > bound) {
    for (double* part : {&parts.scores, &parts.weights, &parts.sum, &parts.accumulation}) *part *= bound / others;
  }
  parts.output = std::max(0.0, bound - (parts.scores + parts.weights + parts.sum + parts.accumulation));
}

}  // namespace nbx::oracle
