// The toolchains of this machine.
#pragma once

#include <vector>

#include "reports/toolchains/toolchain.hpp"

namespace nbx::reports {

/// Every g++, g++-N, clang++, clang++-N, nvcc and ptxas along PATH and in the folders where CUDA toolkits stand
/// (/usr/local/cuda*/bin, $CUDA_HOME/bin, NBX_TOOLCHAINS: folders with ':' between), each compiler once.
std::vector<Toolchain> discover_toolchains();

}  // namespace nbx::reports
