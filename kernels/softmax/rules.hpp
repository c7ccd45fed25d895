// The arithmetic of softmax and log-softmax, fp32 throughout.
#pragma once

#include "kernels/tile/functions.hpp"
#include "kernels/tile/load.hpp"
#include "kernels/tile/number.hpp"
#include "kernels/tile/reduce.hpp"

namespace nbx::softmax {

/// What a kernel of the family is made of. A variant derives from it and hides what it does otherwise.
struct Rules {
  using Max = tile::Max;
  using Sum = tile::Sum;

  /// exp(x − m).
  NBX_FUNCTION static float weight(float x, float max) { return tile::exp(x - max); }
  /// The maximum so far: of the tiles before and of this one.
  template <class Max>
  NBX_FUNCTION static float running_max(float before, float tile) {
    return Max::combine(before, tile);
  }
  /// What a sum over an older maximum is multiplied by. Nothing was summed while the maximum was −inf.
  NBX_FUNCTION static float rescale(float old_max, float new_max) {
    return old_max == Max::identity ? 0.0F : tile::exp(old_max - new_max);
  }
  NBX_FUNCTION static float softmax(float weight, float sum) { return tile::divide(weight, sum); }
  NBX_FUNCTION static float log_softmax(float x, float max, float log_sum) { return (x - max) - log_sum; }

  template <class T>
  NBX_FUNCTION static T narrow(float value) {
    return tile::encode<T>(value);
  }
};

}  // namespace nbx::softmax
