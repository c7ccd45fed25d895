// What gate 5 allows a kernel under every compiler, where that is more than the default: no stack and no spills.
#pragma once

#include "kernels/pack/nbx_pack.h"

namespace nbx::pack {

/// `limits` must be static.
constexpr nbx_kernel with_limits(nbx_kernel kernel, const nbx_limits& limits) {
  kernel.limits = &limits;
  return kernel;
}

/// For sm_120 nvcc 13.0 spills 20 bytes of the score stage's arguments into 8 of stack, and never loads them; for
/// sm_100 and sm_103 it spills 32 into 16, loaded in 72.
inline constexpr nbx_limits score_limits{sizeof(nbx_limits), 0, 16, 72, 0};

/// At the registers that 128 threads leave, nvcc 13.0 takes up to 24 bytes of stack, most for sm_120, and spills 32,
/// loaded in 80.
inline constexpr nbx_limits tight_limits{sizeof(nbx_limits), 0, 24, 80, 0};

/// For sm_100 and sm_103 nvcc 13.0 spills 72 bytes of the form of flash in registers into 40 of stack, loaded in 192.
inline constexpr nbx_limits fragment_limits{sizeof(nbx_limits), 0, 40, 192, 0};

/// For sm_120 nvcc 13.0 gives the fold of splits 40 registers, and spills 8 bytes that it loads in 72.
inline constexpr nbx_limits fold_limits{sizeof(nbx_limits), 0, 8, 72, 0};

/// For sm_120 nvcc 13.0 gives splash attention in f32 64 registers, and takes 40 bytes of stack and 92 of spill loads.
inline constexpr nbx_limits splash_limits{sizeof(nbx_limits), 0, 40, 92, 0};

}  // namespace nbx::pack
