// The CUDA back end: a phase is a strided loop over the block's threads and a barrier; tiles lie in dynamic shared
// memory.
#pragma once

#include <cuda_runtime.h>

#include "kernels/pack/nbx_pack.h"
#include "kernels/tile/tile.hpp"

namespace nbx::tile {

inline constexpr int threads_per_block = 128;

class CudaBlock {
 public:
  static constexpr bool vectors = false;

  NBX_DEVICE CudaBlock(std::int64_t index, std::byte* memory) : index_(index), memory_(memory) {}

  NBX_DEVICE std::int64_t index() const { return index_; }
  NBX_DEVICE bool in_order() const { return false; }

  template <class T>
  NBX_DEVICE Tile<T> tile(int rows, int columns) {
    T* const place = reinterpret_cast<T*>(memory_ + used_);
    used_ += tile_bytes<T>(rows, columns);
    return {place, padded(columns, column_group)};
  }

  template <class Item>
  NBX_DEVICE void phase(std::int64_t n, const Item& item) {
    for (std::int64_t i = threadIdx.x; i < n; i += blockDim.x) item(i);
    __syncthreads();
  }

  /// item(i) for i in 0 … n − 1, each by a whole warp, then a barrier.
  template <class Item>
  NBX_DEVICE void warps(int n, const Item& item) {
    for (int i = static_cast<int>(threadIdx.x) / 32; i < n; i += static_cast<int>(blockDim.x) / 32) item(i);
    __syncthreads();
  }

  template <class Prepare, class Item>
  NBX_DEVICE void phase_rows(std::int64_t rows, std::int64_t columns, const Prepare& prepare, const Item& item) {
    if (rows == 1) {
      const auto row = prepare(std::int64_t{0});
      for (std::int64_t c = threadIdx.x; c < columns; c += blockDim.x) item(row, std::int64_t{0}, c);
    } else {
      each_place(rows, columns,
                 [&](unsigned r, unsigned c) { item(prepare(std::int64_t{r}), std::int64_t{r}, std::int64_t{c}); });
    }
    __syncthreads();
  }

  /// For operations that give items to threads by themselves.
  NBX_DEVICE void barrier() { __syncthreads(); }

  template <class Prepare, class Predicate>
  NBX_DEVICE bool any(std::int64_t rows, std::int64_t columns, const Prepare& prepare, const Predicate& predicate) {
    int found = 0;
    each_place(rows, columns, [&](unsigned r, unsigned c) {
      found |= predicate(prepare(std::int64_t{r}), std::int64_t{r}, std::int64_t{c}) ? 1 : 0;
    });
    return __syncthreads_or(found) != 0;
  }

 private:
  /// visit(r, c) for this thread's places of a tile, whose numbers fit in 32 bits. A division for each would cost more
  /// than most items do.
  template <class Visit>
  NBX_DEVICE static void each_place(std::int64_t rows, std::int64_t columns, const Visit& visit) {
    const auto height = static_cast<unsigned>(rows), width = static_cast<unsigned>(columns);
    if (width == 0) return;
    const unsigned down = blockDim.x / width, across = blockDim.x % width;
    unsigned r = threadIdx.x / width, c = threadIdx.x % width;
    while (r < height) {
      visit(r, c);
      r += down, c += across;
      if (c >= width) {
        c -= width;
        ++r;
      }
    }
  }

  std::int64_t index_;
  std::byte* memory_;
  std::size_t used_ = 0;
};

/// How many blocks of a program a multiprocessor is to hold, which bounds the registers of a thread; 0: any number.
template <class Program>
constexpr int resident_blocks() {
  if constexpr (requires { Program::resident_blocks; }) {
    return Program::resident_blocks;
  } else {
    return 0;
  }
}

template <class Program>
__global__ void __launch_bounds__(threads_per_block, resident_blocks<Program>())
    entry(const __grid_constant__ Program program, std::int64_t first) {
  extern __shared__ __align__(64) unsigned char memory[];
  CudaBlock block(first + static_cast<std::int64_t>(blockIdx.x), reinterpret_cast<std::byte*>(memory));
  program(block);
}

/// What the current device gives to a block of the program, as it is compiled. Returns nullptr, or the runtime's words
/// for what failed.
template <class Program>
const char* block_limits(BlockLimits& out) {
  cudaFuncAttributes compiled{};
  int device = 0, most = 0, major = 0;
  cudaError_t status = cudaFuncGetAttributes(&compiled, entry<Program>);
  if (status == cudaSuccess) status = cudaGetDevice(&device);
  if (status == cudaSuccess) status = cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  if (status == cudaSuccess) status = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
  if (status != cudaSuccess) return cudaGetErrorString(status);
  out = {compiled.sharedSizeBytes, static_cast<std::uint64_t>(most), major >= 8};
  return nullptr;
}

/// Launches `blocks` blocks of the program on how.stream, in slabs where one grid cannot hold them. Returns nullptr, or
/// the runtime's words for what failed.
template <class Program>
const char* launch(const Program& program, std::int64_t blocks, const nbx_launch& how) {
  const auto bytes = static_cast<int>(program.tile_bytes());
  cudaError_t status = cudaFuncSetAttribute(entry<Program>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  constexpr std::int64_t slab = 0x7FFFFFFF;  // the limit of gridDim.x
  for (std::int64_t first = 0; status == cudaSuccess && first < blocks; first += slab) {
    const auto count = static_cast<unsigned>(blocks - first < slab ? blocks - first : slab);
    entry<Program>
        <<<count, threads_per_block, static_cast<std::size_t>(bytes), static_cast<cudaStream_t>(how.stream)>>>(program,
                                                                                                               first);
    status = cudaGetLastError();
  }
  return status == cudaSuccess ? nullptr : cudaGetErrorString(status);
}

}  // namespace nbx::tile
