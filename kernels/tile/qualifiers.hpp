// Where a function of the tile layer may run: one source, read by the host compiler and by nvcc.
#pragma once

// NBX_HOST_DEVICE: a function of both back ends. NBX_DEVICE_CODE: 1 while the device's side is compiled.
// NBX_FORCE_INLINE: inlined at every optimisation level that inlines at all.
#if defined(__CUDACC__)
#define NBX_HOST_DEVICE __host__ __device__
#define NBX_DEVICE __device__
#define NBX_FORCE_INLINE __forceinline__
#else
#define NBX_HOST_DEVICE
#define NBX_DEVICE
#define NBX_FORCE_INLINE inline __attribute__((always_inline))
#endif

#if defined(__CUDA_ARCH__)
#define NBX_DEVICE_CODE 1
#else
#define NBX_DEVICE_CODE 0
#endif

// What a function of both back ends starts with.
#define NBX_FUNCTION NBX_HOST_DEVICE NBX_FORCE_INLINE

// Before a loop whose array is to live in registers on the device.
#if NBX_DEVICE_CODE
#define NBX_UNROLL _Pragma("unroll")
#else
#define NBX_UNROLL
#endif
