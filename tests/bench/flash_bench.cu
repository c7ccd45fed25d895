// Times attention kernels of a CUDA pack, through its entry, by device events: flash_on_device.sh starts it.
//
//   flash_bench PACK KERNEL B H TQ TK D CAUSAL [REPEATS]
//
// prints the median of one run in ms, of REPEATS after three that warm up. Inputs are normal; the kernel's format has
// 16 bits.
#include <cuda_runtime.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "kernels/pack/nbx_pack.h"

namespace {

[[noreturn]] void give_up(const std::string& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  std::exit(3);
}

void require(cudaError_t status) {
  if (status != cudaSuccess) give_up(cudaGetErrorString(status));
}

/// Normal numbers by the sum of uniform ones, from a hash of the place.
__global__ void draw(std::uint16_t* to, std::int64_t n, std::uint64_t seed, bool bf16) {
  for (std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x; i < n;
       i += static_cast<std::int64_t>(gridDim.x) * blockDim.x) {
    std::uint64_t x = static_cast<std::uint64_t>(i) * 0x9E3779B97F4A7C15U + seed;
    float sum = -6.0F;
    for (int k = 0; k < 12; ++k) {
      x ^= x >> 30, x *= 0xBF58476D1CE4E5B9U, x ^= x >> 27, x *= 0x94D049BB133111EBU, x ^= x >> 31;
      sum += static_cast<float>(x >> 40) * 0x1p-24F;
    }
    unsigned bits;
    if (bf16) {
      asm("cvt.rn.bf16x2.f32 %0, %1, %1;" : "=r"(bits) : "f"(sum));
    } else {
      asm("cvt.rn.f16x2.f32 %0, %1, %1;" : "=r"(bits) : "f"(sum));
    }
    to[i] = static_cast<std::uint16_t>(bits);
  }
}

const nbx_kernel& open(const char* path, const std::string& name) {
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) give_up(dlerror());
  const auto entry = reinterpret_cast<decltype(&nbx_pack_open)>(dlsym(library, "nbx_pack_open"));
  char message[512] = "no pack";
  const nbx_pack* const pack = entry == nullptr ? nullptr : entry(NBX_PACK_INTERFACE, message, sizeof message);
  if (pack == nullptr) give_up(std::string(path) + ": " + message);
  for (std::size_t i = 0; i < pack->kernel_count; ++i) {
    if (pack->kernels[i]->name == name) return *pack->kernels[i];
  }
  give_up(std::string(path) + " has no " + name);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 9) give_up("flash_bench PACK KERNEL B H TQ TK D CAUSAL [REPEATS]");
  const nbx_kernel& kernel = open(argv[1], argv[2]);
  const std::int64_t B = std::atoll(argv[3]), H = std::atoll(argv[4]), Tq = std::atoll(argv[5]),
                     Tk = std::atoll(argv[6]), D = std::atoll(argv[7]);
  const int repeats = argc > 9 ? std::atoi(argv[9]) : 20;

  const char* const names[] = {"q", "k", "v", "o"};
  std::int64_t shapes[4][4], strides[4][4];
  nbx_tensor tensors[4];
  const nbx_tensor* pointers[4];
  for (int t = 0; t < 4; ++t) {
    const std::int64_t T = t == 1 || t == 2 ? Tk : Tq, n = B * H * T * D;
    const std::int64_t shape[4] = {B, H, T, D}, stride[4] = {H * T * D, T * D, D, 1};
    std::copy(shape, shape + 4, shapes[t]);
    std::copy(stride, stride + 4, strides[t]);
    void* data = nullptr;
    require(cudaMalloc(&data, static_cast<std::size_t>(n) * 2));
    draw<<<1024, 256>>>(static_cast<std::uint16_t*>(data), n, static_cast<std::uint64_t>(t + 1),
                        kernel.format.code == kDLBfloat);
    require(cudaGetLastError());
    tensors[t] = {sizeof(nbx_tensor), static_cast<nbx_role>(t == 3 ? NBX_OUT : NBX_IN), names[t],
                  DLTensor{data, {kDLCUDA, 0}, 4, kernel.format, shapes[t], strides[t], 0}};
    pointers[t] = &tensors[t];
  }
  const nbx_param causal{"causal", NBX_TEXT, 0, 0, std::atoi(argv[8]) != 0 ? "top_left" : "none"};
  nbx_problem problem{};
  problem.struct_size = sizeof problem;
  problem.family = kernel.family;
  problem.tensors = pointers;
  problem.tensor_count = 4;
  problem.params = &causal;
  problem.param_count = 1;
  problem.ranks = 1;
  nbx_launch launch{};
  launch.struct_size = sizeof launch;
  char message[512] = "";
  const auto ask = [&](nbx_status status) {
    if (status != NBX_OK) give_up(message);
  };
  ask(kernel.check(&kernel, &problem, &launch, message, sizeof message));
  ask(kernel.workspace_bytes(&kernel, &problem, &launch, &launch.workspace_bytes, message, sizeof message));
  require(cudaMalloc(&launch.workspace, launch.workspace_bytes == 0 ? 1 : launch.workspace_bytes));

  cudaEvent_t before, after;
  require(cudaEventCreate(&before));
  require(cudaEventCreate(&after));
  std::vector<float> times;
  for (int i = -3; i < repeats; ++i) {
    require(cudaEventRecord(before));
    ask(kernel.run(&kernel, &problem, &launch, message, sizeof message));
    require(cudaEventRecord(after));
    require(cudaEventSynchronize(after));
    float ms = 0;
    require(cudaEventElapsedTime(&ms, before, after));
    if (i >= 0) times.push_back(ms);
  }
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
  std::printf("%.4f\n", static_cast<double>(times[times.size() / 2]));
}
