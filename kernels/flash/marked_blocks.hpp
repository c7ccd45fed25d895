// CUDA alone: what the form in registers has marked, computed again by the program of flash.
#pragma once

#if defined(__CUDACC__)

#include "kernels/flash/program.hpp"
#include "kernels/flash/register_form.hpp"

namespace nbx::flash {

/// Which marks a block of the program of flash has.
struct MarkedBlocks {
  std::int64_t blocks;
  std::int64_t tiles, marks;  // blocks and marks of a head
  int height, mark_rows;      // queries of a block and of a mark

  NBX_DEVICE bool marked(const std::uint32_t* from, std::int64_t index) const {
    const std::int64_t first = index % tiles * height / mark_rows;
    const std::int64_t last = (index % tiles * height + height - 1) / mark_rows;
    const std::uint32_t* const of_head = from + index / tiles * marks;
    bool any = false;
    for (std::int64_t i = first; i <= last && i < marks; ++i) any = any || of_head[i] != 0;
    return any;
  }
};

/// The marked blocks once more, by the program of flash: `blocks` of them with `per_mark` to a mark, few in flight, as
/// hardly ever one is marked.
template <class Program>
__global__ void __launch_bounds__(tile::threads_per_block)
    marked_entry(const __grid_constant__ Program program, const std::uint32_t* marks, MarkedBlocks of) {
  extern __shared__ __align__(256) unsigned char memory[];
  const auto marked = [&](std::int64_t index) { return index < of.blocks && of.marked(marks, index); };
  const std::int64_t step = gridDim.x;
  for (std::int64_t first = blockIdx.x; first < of.blocks; first += step * blockDim.x) {
    if (__syncthreads_or(marked(first + threadIdx.x * step)) == 0) continue;
    for (unsigned i = 0; i < blockDim.x; ++i) {
      if (!marked(first + i * step)) continue;
      tile::CudaBlock block(first + i * step, reinterpret_cast<std::byte*>(memory));
      program(block);
    }
  }
}

/// Launches marked_entry. Returns nullptr, or the runtime's words for what failed.
template <class Program>
const char* launch_marked(const Program& program, const std::uint32_t* marks, const MarkedBlocks& of, void* stream) {
  const auto bytes = static_cast<int>(program.tile_bytes());
  const auto entry = marked_entry<Program>;
  int device = 0, multiprocessors = 0;
  cudaError_t status = cudaGetDevice(&device);
  if (status == cudaSuccess) {
    status = cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
  }
  if (status == cudaSuccess) status = cudaFuncSetAttribute(entry, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  if (status == cudaSuccess) {
    const auto grid = static_cast<unsigned>(of.blocks < multiprocessors ? of.blocks : multiprocessors);
    entry<<<grid, tile::threads_per_block, static_cast<std::size_t>(bytes), static_cast<cudaStream_t>(stream)>>>(
        program, marks, of);
    status = cudaGetLastError();
  }
  return status == cudaSuccess ? nullptr : cudaGetErrorString(status);
}

}  // namespace nbx::flash

#endif
