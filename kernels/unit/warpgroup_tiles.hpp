// wgmma by itself as a kernel of the family "matrix_unit" (tiles.hpp): one warpgroup takes 64 × 8 of D, A in registers
// and B in shared memory. On the CPU the model, as every unit's.
#pragma once

#include "kernels/unit/tiles.hpp"

namespace nbx::unit {

inline constexpr int warpgroup_rows = 64, warpgroup_columns = 8, warpgroup_threads = 128;

#if defined(__CUDACC__)

namespace detail {

#define NBX_WGMMA(instruction, transposed)                                                                             \
  asm volatile("wgmma.mma_async.sync.aligned." instruction " {%0,%1,%2,%3}, {%4,%5,%6,%7}, %8, 1, 1, 1" transposed ";" \
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                                        \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b))

NBX_DEVICE inline void wgmma(WgmmaF16, float* d, const std::uint32_t* a, std::uint64_t b) {
  NBX_WGMMA("m64n8k16.f32.f16.f16", ", 0");
}
NBX_DEVICE inline void wgmma(WgmmaBF16, float* d, const std::uint32_t* a, std::uint64_t b) {
  NBX_WGMMA("m64n8k16.f32.bf16.bf16", ", 0");
}
NBX_DEVICE inline void wgmma(WgmmaTF32, float* d, const std::uint32_t* a, std::uint64_t b) {
  NBX_WGMMA("m64n8k8.f32.tf32.tf32", "");
}
NBX_DEVICE inline void wgmma(WgmmaE4M3, float* d, const std::uint32_t* a, std::uint64_t b) {
  NBX_WGMMA("m64n8k32.f32.e4m3.e4m3", "");
}

#undef NBX_WGMMA

/// One block of one warpgroup for each product. Fragments as in PTX ISA 9.0, "Register Fragments for
/// wgmma.mma_async.m64nNk…": warp w has the rows 16w … 16w + 15, in it g = lane / 4 and t = lane % 4.
template <class Unit, class T>
__global__ void __launch_bounds__(warpgroup_threads) warpgroup_entry(const Tiles<Unit, T> of) {
  constexpr int width = 4 / sizeof(T);  // elements of one register
  constexpr int wide = 16 / sizeof(T);  // and of one row of a core matrix, 8 × 16 bytes; Unit::k is two of them
  __shared__ __align__(128) T part[2][warpgroup_columns][wide];  // of B: half of k, column, k
  const int lane = static_cast<int>(threadIdx.x) % 32, g = lane / 4, t = lane % 4;
  const int row = static_cast<int>(threadIdx.x) / 32 * 16 + g;
  const T* const a = of.a + std::int64_t{blockIdx.x} * warpgroup_rows * of.depth;
  const T* const b = of.b + std::int64_t{blockIdx.x} * of.depth * warpgroup_columns;
  const std::int64_t first = std::int64_t{blockIdx.x} * warpgroup_rows * warpgroup_columns;
  const auto place = [&](int i) { return first + (row + i / 2 * 8) * warpgroup_columns + 2 * t + i % 2; };
  float sum[4];
  for (int i = 0; i < 4; ++i) sum[i] = of.c[place(i)];
  for (int k = 0; k < of.depth; k += Unit::k) {
    std::uint32_t words[4];
    for (int i = 0; i < 4; ++i) {
      const T* const from = a + (row + i % 2 * 8) * of.depth + k + width * t + i / 2 * wide;
      memcpy(&words[i], from, sizeof words[i]);
    }
    __syncthreads();
    for (int i = static_cast<int>(threadIdx.x); i < 2 * warpgroup_columns * wide; i += warpgroup_threads) {
      const int half = i / (warpgroup_columns * wide), column = i / wide % warpgroup_columns, at = i % wide;
      part[half][column][at] = b[(k + half * wide + at) * warpgroup_columns + column];
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    // No swizzle, 128 bytes from one core matrix to the next (PTX ISA 9.0, "Matrix Descriptor Format").
    const auto at = static_cast<std::uint64_t>(__cvta_generic_to_shared(part));
    const std::uint64_t descriptor =
        (at & 0x3FFFFU) >> 4 | std::uint64_t{128 >> 4} << 16 | std::uint64_t{128 >> 4} << 32;
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    wgmma(Unit{}, sum, words, descriptor);
    asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" ::: "memory");
  }
  for (int i = 0; i < 4; ++i) of.d[place(i)] = sum[i];
}

}  // namespace detail

#endif

/// The kernel of one unit of a warpgroup. Elsewhere than on sm_90 there is no such instruction, and it declines.
template <class Unit, class T>
struct WarpgroupKernel : TilesKernel<Unit, T> {
  using Base = TilesKernel<Unit, T>;
  using Read = typename Base::Read;

  static Read read(const nbx_problem& problem, bool with_data) {
    const Read call = Base::read(problem, with_data);
    const Tiles<Unit, T>& of = call.program;
    const auto held = [](const char* argument, int size, bool fits, const std::string& accepted) {
      if (!fits) pack::refuse(NBX_UNSUPPORTED, argument, std::to_string(size), accepted);
    };
    held("a: rows", of.rows, of.rows == warpgroup_rows, std::to_string(warpgroup_rows));
    held("b: columns", of.columns, of.columns == warpgroup_columns, std::to_string(warpgroup_columns));
    held("a: depth", of.depth, of.depth % Unit::k == 0, "multiples of " + std::to_string(Unit::k));
#if defined(__CUDACC__)
    require_hopper();
#endif
    return call;
  }

  static void can_run(const nbx_problem& problem) { read(problem, false); }
  static std::uint64_t workspace_bytes(const nbx_problem& problem, const nbx_launch*) {
    read(problem, false);
    return 0;
  }
  static void check(const nbx_problem& problem, const nbx_launch*) { read(problem, true); }
  static void run(const nbx_problem& problem, const nbx_launch& how) {
    const Read call = read(problem, true);
#if defined(__CUDACC__)
    pack::launched("matrix unit", launch(call, how));
#else
    pack::launched("matrix unit", tile::launch(call.program, call.tiles, how));
#endif
  }

#if defined(__CUDACC__)
 private:
  static void require_hopper() {
    int device = 0, major = 0, minor = 0;
    cudaError_t status = cudaGetDevice(&device);
    if (status == cudaSuccess) status = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
    if (status == cudaSuccess) status = cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device);
    pack::launched("matrix unit", status == cudaSuccess ? nullptr : cudaGetErrorString(status));
    if (major != 9 || minor != 0) {
      pack::refuse(NBX_UNSUPPORTED, "device", "sm_" + std::to_string(major * 10 + minor),
                   "sm_90, which alone has wgmma");
    }
  }

  static const char* launch(const Read& call, const nbx_launch& how) {
    detail::warpgroup_entry<Unit, T>
        <<<static_cast<unsigned>(call.tiles), warpgroup_threads, 0, static_cast<cudaStream_t>(how.stream)>>>(
            call.program);
    const cudaError_t status = cudaGetLastError();
    return status == cudaSuccess ? nullptr : cudaGetErrorString(status);
  }
#endif
};

}  // namespace nbx::unit
