// The pack of matrix units, for `nbx-contract probe`: the instructions on a device, their models on the CPU.
#include <iterator>
#include <string>

#include "kernels/pack/imitate.hpp"
#include "kernels/pack/refusal.hpp"
#include "kernels/pack/warpgroup_units.hpp"
#include "kernels/unit/tiles.hpp"

#if defined(__CUDACC__)
#include "kernels/pack/cuda/memory.hpp"
#endif

namespace nbx::kernels {
namespace {

template <class Unit, class T>
constexpr nbx_kernel unit_kernel(const char* name) {
  return pack::describe<unit::TilesKernel<Unit, T>>(name, __FILE__);
}

const nbx_kernel units[] = {unit_kernel<unit::M16N8K16F16, tile::f16>("m16n8k16.mma.f16"),
                            unit_kernel<unit::M16N8K16BF16, tile::bf16>("m16n8k16.mma.bf16"),
                            unit_kernel<unit::M16N8K8TF32, float>("m16n8k8.mma.tf32"),
                            unit_kernel<unit::M16N8K32E4M3, tile::e4m3>("m16n8k32.mma.e4m3"),
                            unit_kernel<unit::M8N8K4F16, tile::f16>("m8n8k4.mma.f16")};
const nbx_kernel* const all_units[] = {&units[0],           &units[1],           &units[2],
                                       &units[3],           &units[4],           &warpgroup_units[0],
                                       &warpgroup_units[1], &warpgroup_units[2], &warpgroup_units[3]};

/// Fills in what the device is. Returns why the pack cannot serve here, else empty.
std::string set_device(nbx_pack& pack) {
#if defined(__CUDACC__)
  static cudaDeviceProp device{};
  const cudaError_t status = cudaGetDeviceProperties(&device, 0);
  if (status != cudaSuccess) return std::string("no CUDA device: ") + cudaGetErrorString(status);
  static const std::string architecture = "sm_" + std::to_string(device.major * 10 + device.minor);
  if (device.major * 10 + device.minor < 90) {
    return std::string("device ") + device.name + ": " + architecture + "; accepted: sm_90 and later";
  }
  pack.name = "units_cuda";
  pack.device = {kDLCUDA, 0};
  pack.device_name = device.name;
  pack.imitates = architecture.c_str();
  pack.memory = &pack::cuda_memory();
#else
  if (std::string wrong = pack::choose_imitated(); !wrong.empty()) return wrong;
  pack.name = "units";
  pack.device = {kDLCPU, 0};
  pack.device_name = "host";
  pack.imitates = unit::imitated().name.data();  // of a literal, which ends it
#endif
  return {};
}

}  // namespace
}  // namespace nbx::kernels

const nbx_pack* nbx_pack_open(std::uint32_t pack_interface, char* message, std::size_t capacity) {
  static nbx_pack pack{};
  std::string obstacle;
  if (pack_interface != NBX_PACK_INTERFACE) {
    obstacle =
        "pack interface: " + std::to_string(pack_interface) + "; accepted: " + std::to_string(NBX_PACK_INTERFACE);
  } else {
    obstacle = nbx::kernels::set_device(pack);
  }
  if (!obstacle.empty()) {
    nbx::pack::write_message(message, capacity, obstacle);
    return nullptr;
  }
  pack.struct_size = sizeof(nbx_pack);
  pack.pack_interface = NBX_PACK_INTERFACE;
  pack.toolchain = NBX_TOOLCHAIN;
  pack.flags = NBX_FLAGS;
  pack.kernels = nbx::kernels::all_units;
  pack.kernel_count = std::size(nbx::kernels::all_units);
  return &pack;
}
