// Memory of the CUDA pack's device, guarded by unmapped addresses where the driver can.
#pragma once

#include "kernels/pack/nbx_pack.h"

namespace nbx::pack {

/// The functions over the current device. can_guard is 0 where the driver has no virtual memory management.
const nbx_memory& cuda_memory();

}  // namespace nbx::pack
