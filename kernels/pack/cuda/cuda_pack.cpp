// The CUDA pack: every kernel through the CUDA back end of the tile layer.
#include <cuda_runtime_api.h>

#include <fstream>
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

/// "CUDA driver API 13.0, kernel module 580.159.04, machine code sm_90".
std::string driver_of(const cudaDeviceProp& device) {
  int version = 0;
  if (cudaDriverGetVersion(&version) != cudaSuccess) version = 0;
  std::string text = "CUDA driver API " + std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
  std::ifstream module("/sys/module/nvidia/version");
  if (std::string loaded; module >> loaded) text += ", kernel module " + loaded;
  const bool compiled = device.major * 10 + device.minor == least_capability;
  return text + (compiled ? ", machine code sm_90" : ", PTX compiled by the driver");
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
  static const std::string architecture = "sm_" + std::to_string(device.major * 10 + device.minor);
  pack.imitates = architecture.c_str();
  static const std::string driver = driver_of(device);
  pack.driver = driver.c_str();
  pack.toolchain = NBX_TOOLCHAIN;
  pack.flags = NBX_FLAGS;
  pack.kernels = nbx::kernels::all;
  pack.kernel_count = std::size(nbx::kernels::all);
  pack.memory = &nbx::pack::cuda_memory();
  pack.compile_commands = "cuda.units.json";
  return &pack;
}
