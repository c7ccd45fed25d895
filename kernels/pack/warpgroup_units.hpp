// The units of a warpgroup, for the pack of matrix units.
#pragma once

#include "kernels/pack/nbx_pack.h"

namespace nbx::kernels {

extern const nbx_kernel warpgroup_units[4];

}  // namespace nbx::kernels
