// The CUDA pack: every kernel through the CUDA back end of the tile layer.
#include <cuda_runtime_api.h>

#include <iterator>
#include <string>

#include "kernels/pack/cuda/memory.hpp"
#include "kernels/pack/kernels.hpp"
#include "kernels/pack/refusal.hpp"

namespace {

constexpr int least_capability = 90;  // what the kernels are compiled for; their PTX serves later ones

/// Why the pack cannot serve here; empty: it can. `device` gets the current device's properties.
std::string obstacle(std::uint32_t pack_interface, cudaDeviceProp& device) {
  if (pack_interface != NBX_PACK_INTERFACE) {
    return "pack interface: " + std::to_string(pack_interface) + "; accepted: " + std::to_string(NBX_PACK_INTERFACE);
  }
  int count = 0;
  cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaSuccess && count == 0) status = cudaErrorNoDevice;
  if (status == cudaSuccess) status = cudaGetDeviceProperties(&device, 0);
  if (status != cudaSuccess) return std::string("no CUDA device: ") + cudaGetErrorString(status);
  if (device.major * 10 + device.minor < least_capability) {
    return std::string("device ") + device.name + ": compute capability " + std::to_string(device.major) + "." +
           std::to_string(device.minor) + "; accepted: 9.0 and later";
  }
  return {};
}

}  // namespace

const nbx_pack* nbx_pack_open(std::uint32_t pack_interface, char* message, std::size_t capacity) {
  static cudaDeviceProp device{};
  if (const std::string why_not = obstacle(pack_interface, device); !why_not.empty()) {
    nbx::pack::write_message(message, capacity, why_not);
    return nullptr;
  }
  static nbx_pack pack{};
  pack.struct_size = sizeof(nbx_pack);
  pack.pack_interface = NBX_PACK_INTERFACE;
  pack.name = "cuda";
  pack.device = {kDLCUDA, 0};
  pack.device_name = device.name;
  pack.toolchain = NBX_TOOLCHAIN;
  pack.flags = NBX_FLAGS;
  pack.kernels = nbx::kernels::all;
  pack.kernel_count = std::size(nbx::kernels::all);
  pack.memory = &nbx::pack::cuda_memory();
  return &pack;
}
