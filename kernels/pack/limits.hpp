// What gate 5 allows a kernel under every compiler, where that is more than the default: no stack and no spills.
#pragma once

#include "kernels/pack/nbx_pack.h"

namespace nbx::pack {

/// `limits` must be static.
constexpr nbx_kernel with_limits(nbx_kernel kernel, const nbx_limits& limits) {
  kernel.limits = &limits;
  return kernel;
}

/// The streaming of whole cache rows through registers does not fit 255 of them: nvcc 13.0 spills up to 1,028 bytes and
/// takes up to 688 of stack in decode.split. The limit stands until the kernels are narrower, and is to come down then.
inline constexpr nbx_limits streaming_limits{sizeof(nbx_limits), 0, 1024, 2048, 0};

/// For sm_120 nvcc 13.0 keeps 8 bytes of the score stage's arguments on the stack, with nothing spilled.
inline constexpr nbx_limits score_limits{sizeof(nbx_limits), 0, 8, 0, 0};

}  // namespace nbx::pack
