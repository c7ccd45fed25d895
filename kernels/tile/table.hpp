// Tables of the problem (lengths, block tables, slots) on the host, for `check`.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "kernels/pack/problem.hpp"
#include "kernels/tile/block.hpp"

namespace nbx::tile {

/// The elements of an int32 tensor in row-major order. On a device after everything that `how`'s stream still does.
inline std::vector<std::int32_t> read_table(const pack::Tensor& tensor, [[maybe_unused]] const nbx_launch* how) {
  const std::int64_t count = pack::elements(tensor.shape, tensor.rank);
  std::vector<std::int32_t> out(static_cast<std::size_t>(count));
  if (count == 0) return out;
  std::int64_t last = 0;
  for (int axis = 0; axis < tensor.rank; ++axis) {
    if (tensor.shape[axis] > 1) last += tensor.stride[axis] * (tensor.shape[axis] - 1);
  }
  std::vector<std::int32_t> span(static_cast<std::size_t>(last) + 1);
  const std::size_t bytes = span.size() * sizeof(std::int32_t);
#if defined(__CUDACC__)
  const auto stream = how == nullptr ? nullptr : static_cast<cudaStream_t>(how->stream);
  cudaError_t status = cudaStreamSynchronize(stream);
  if (status == cudaSuccess) status = cudaMemcpy(span.data(), tensor.data, bytes, cudaMemcpyDeviceToHost);
  if (status != cudaSuccess) {
    throw pack::Refusal{NBX_DEVICE_ERROR, std::string(tensor.name) + ": " + cudaGetErrorString(status)};
  }
#else
  std::memcpy(span.data(), tensor.data, bytes);
#endif
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t place = 0, rest = i;
    for (int axis = tensor.rank - 1; axis >= 0; --axis) {
      place += rest % tensor.shape[axis] * (tensor.shape[axis] > 1 ? tensor.stride[axis] : 0);
      rest /= tensor.shape[axis];
    }
    out[static_cast<std::size_t>(i)] = span[static_cast<std::size_t>(place)];
  }
  return out;
}

}  // namespace nbx::tile
