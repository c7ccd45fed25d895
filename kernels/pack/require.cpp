#include "kernels/pack/require.hpp"

#include <cmath>

namespace nbx::pack {

void require_size(const Tensor& tensor, int axis, const char* what, std::int64_t expected, const char* as) {
  if (tensor.shape[axis] == expected) return;
  refuse(NBX_INVALID, tensor.name, what + (" " + text(tensor.shape[axis])) + " in " + text(tensor.shape, tensor.rank),
         text(expected) + ", " + as);
}

void require_heads(const Tensor& k, std::int64_t H) {
  const std::int64_t Hk = k.shape[1];
  if (Hk == 0 ? H == 0 : H % Hk == 0) return;
  refuse(NBX_INVALID, k.name, "KV heads " + text(Hk) + " in " + text(k.shape, k.rank),
         "a divisor of " + text(H) + ", the heads of q");
}

float read_scale(const Problem& given, std::int64_t D) {
  const auto stated = given.real("scale");
  if (!stated) return static_cast<float>(1.0 / std::sqrt(static_cast<double>(D)));
  const float scale = static_cast<float>(*stated);
  if (!std::isfinite(scale) || static_cast<double>(scale) != *stated) {
    refuse(NBX_INVALID, "scale", text(*stated), "a finite fp32 number");
  }
  return scale;
}

}  // namespace nbx::pack
