// Every function of the tile layer over all 2^32 floats on the device: hashes against those of the hosts. Exit code 0
// only if all of them agree.
#include <cstdio>

#include "function_hash.hpp"

namespace nbx::tests {
namespace {

template <class Function>
__global__ void add_hashes(Function function, unsigned long long* sum) {
  unsigned long long part = 0;
  const std::uint64_t threads = static_cast<std::uint64_t>(gridDim.x) * blockDim.x;
  for (std::uint64_t bits = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x; bits < all_floats;
       bits += threads) {
    part += hash_of_result(function, static_cast<std::uint32_t>(bits));
  }
  atomicAdd(sum, part);
}

/// True if the call succeeded; else says why not.
bool succeeded(cudaError_t status, const char* what) {
  if (status != cudaSuccess) std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(status));
  return status == cudaSuccess;
}

template <class Function>
bool agrees(Function function, const RecordedHash& recorded, unsigned long long* sum) {
  unsigned long long hash = 0;
  if (!succeeded(cudaMemset(sum, 0, sizeof *sum), "cudaMemset")) return false;
  add_hashes<<<4096, 256>>>(function, sum);
  if (!succeeded(cudaGetLastError(), recorded.name)) return false;
  if (!succeeded(cudaMemcpy(&hash, sum, sizeof hash, cudaMemcpyDeviceToHost), recorded.name)) return false;
  const bool equal = hash == recorded.all;
  std::printf("%-6s %-12s device 0x%016llX host 0x%016llX\n", equal ? "ok" : "FAIL", recorded.name, hash,
              static_cast<unsigned long long>(recorded.all));
  return equal;
}

int run() {
  unsigned long long* sum = nullptr;
  if (!succeeded(cudaMalloc(&sum, sizeof *sum), "cudaMalloc")) return 1;
  int functions = 0;
  int agreeing = 0;
  for_each_hashed_function([&](auto function, const RecordedHash& recorded) {
    ++functions;
    agreeing += agrees(function, recorded, sum) ? 1 : 0;
  });
  std::printf("%d of %d functions have the host's bits over all floats\n", agreeing, functions);
  return succeeded(cudaFree(sum), "cudaFree") && functions > 0 && agreeing == functions ? 0 : 1;
}

}  // namespace
}  // namespace nbx::tests

int main() { return nbx::tests::run(); }
