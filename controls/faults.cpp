#include "controls/faults.hpp"

#include <cmath>
#include <string_view>

namespace nbx::controls {

Sizes sizes(Call& call) {
  const Tensor& q = call.tensor("q");
  const Tensor& k = call.tensor("k");
  const Tensor& v = call.tensor("v");
  return {q.shape[0], q.shape[1], k.shape[1], q.shape[2], k.shape[2], q.shape[3], v.shape[3]};
}

float scale_of(Call& call) {
  const nbx_param* const stated = call.param("scale");
  const auto scale = stated != nullptr ? stated->real : 1.0 / std::sqrt(static_cast<double>(sizes(call).D));
  return static_cast<float>(scale);
}

void set_scale(Call& call, double scale) {
  call.set_param({"scale", NBX_REAL, 0, static_cast<double>(static_cast<float>(scale)), nullptr});
}

const char* causal_of(Call& call) {
  const nbx_param* const stated = call.param("causal");
  return stated == nullptr ? "none" : stated->text;
}

void set_causal(Call& call, const char* causal) { call.set_param({"causal", NBX_TEXT, 0, 0, causal}); }

void take_keys(Call& call, std::int64_t first, std::int64_t count) {
  const auto take = [&](Tensor& tensor, int axis) {
    tensor.shift(axis, first);
    tensor.shape[axis] = count;
  };
  take(call.tensor("k"), 2);
  take(call.tensor("v"), 2);
  Tensor* const bias = call.find("bias");
  if (bias != nullptr && bias->shape[bias->rank() - 1] > 1) take(*bias, bias->rank() - 1);
}

void reverse_head_dim(Call& call) {
  call.tensor("q").reverse(3);
  call.tensor("k").reverse(3);
}

int axis_of(Call& call) {
  const nbx_param* const stated = call.param("axis");
  const std::int64_t axis = stated == nullptr ? -1 : stated->integer;
  return static_cast<int>(axis < 0 ? axis + call.tensor("x").rank() : axis);
}

}  // namespace nbx::controls
