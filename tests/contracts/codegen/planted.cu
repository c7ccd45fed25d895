// A kernel that gate 5 is shown in four forms. PLANT 0 as it is; 1 other code, the same resources; 2 more registers.
// With -maxrregcount=16 it spills.
#ifndef PLANT
#define PLANT 0
#endif

#if PLANT == 2
constexpr int held = 48;
#else
constexpr int held = 24;
#endif

extern "C" __global__ void planted(const float* in, float* out, int n) {
  float value[held];
#pragma unroll
  for (int i = 0; i < held; ++i) value[i] = in[i * n + threadIdx.x];
  for (int step = 0; step < n; ++step) {
#pragma unroll
    for (int i = 0; i < held; ++i) value[i] = value[i] * value[(i + 1) % held] + (PLANT == 1 ? 3.0F : 2.0F);
  }
#pragma unroll
  for (int i = 0; i < held; ++i) out[i * n + threadIdx.x] = value[i];
}
