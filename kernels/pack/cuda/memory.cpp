#include "kernels/pack/cuda/memory.hpp"

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <map>
#include <mutex>
#include <string>

#include "kernels/pack/refusal.hpp"

namespace nbx::pack {
namespace {

// The driver's functions are asked of the runtime, so that the pack loads where there is no libcuda.
template <class Function>
bool find(const char* name, Function& out) {
  void* entry = nullptr;
  cudaDriverEntryPointQueryResult found{};
#if CUDART_VERSION >= 12050
  const cudaError_t status = cudaGetDriverEntryPointByVersion(name, &entry, 12000, cudaEnableDefault, &found);
#else
  const cudaError_t status = cudaGetDriverEntryPoint(name, &entry, cudaEnableDefault, &found);
#endif
  out = reinterpret_cast<Function>(entry);
  return status == cudaSuccess && found == cudaDriverEntryPointSuccess && entry != nullptr;
}

struct Driver {
  decltype(&cuMemGetAllocationGranularity) granularity = nullptr;
  decltype(&cuMemAddressReserve) reserve = nullptr;
  decltype(&cuMemAddressFree) unreserve = nullptr;
  decltype(&cuMemCreate) create = nullptr;
  decltype(&cuMemRelease) release = nullptr;
  decltype(&cuMemMap) map = nullptr;
  decltype(&cuMemUnmap) unmap = nullptr;
  decltype(&cuMemSetAccess) access = nullptr;
  CUmemAllocationProp property{};
  std::size_t unit = 0;  // bytes; 0: no virtual memory management

  Driver() {
    int device = 0;
    int supported = 0;
    if (cudaFree(nullptr) != cudaSuccess || cudaGetDevice(&device) != cudaSuccess) return;
    decltype(&cuDeviceGetAttribute) attribute = nullptr;
    if (!find("cuDeviceGetAttribute", attribute) ||
        attribute(&supported, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, device) != CUDA_SUCCESS ||
        supported == 0) {
      return;
    }
    property.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    property.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device};
    std::size_t bytes = 0;
    const bool all = find("cuMemGetAllocationGranularity", granularity) && find("cuMemAddressReserve", reserve) &&
                     find("cuMemAddressFree", unreserve) && find("cuMemCreate", create) &&
                     find("cuMemRelease", release) && find("cuMemMap", map) && find("cuMemUnmap", unmap) &&
                     find("cuMemSetAccess", access);
    if (all && granularity(&bytes, &property, CU_MEM_ALLOC_GRANULARITY_MINIMUM) == CUDA_SUCCESS) unit = bytes;
  }
};

const Driver& driver() {
  static const Driver found;
  return found;
}

/// Addresses [reserved, reserved + 2 units + mapped): a unit unmapped, the memory, a unit unmapped.
struct Guarded {
  CUdeviceptr reserved;
  std::size_t mapped;
  CUmemGenericAllocationHandle handle;
};

std::mutex lock;
std::map<void*, Guarded>& guarded_blocks() {
  static std::map<void*, Guarded> blocks;
  return blocks;
}

nbx_status failed(CUresult status, const char* what, char* message, std::size_t capacity) {
  write_message(message, capacity, std::string(what) + ": driver error " + std::to_string(status));
  return status == CUDA_ERROR_OUT_OF_MEMORY ? NBX_OUT_OF_MEMORY : NBX_DEVICE_ERROR;
}

/// The start is a multiple of 256, as near to the end as that allows.
nbx_status allocate_guarded(std::uint64_t bytes, void** out, char* message, std::size_t capacity) {
  const Driver& d = driver();
  Guarded block{};
  block.mapped = (static_cast<std::size_t>(bytes) + d.unit - 1) / d.unit * d.unit;
  if (block.mapped == 0) block.mapped = d.unit;
  const std::size_t span = block.mapped + 2 * d.unit;
  CUresult status = d.create(&block.handle, block.mapped, &d.property, 0);
  if (status != CUDA_SUCCESS) return failed(status, "cuMemCreate", message, capacity);
  status = d.reserve(&block.reserved, span, 0, 0, 0);
  if (status != CUDA_SUCCESS) {
    d.release(block.handle);
    return failed(status, "cuMemAddressReserve", message, capacity);
  }
  const CUdeviceptr start = block.reserved + d.unit;
  status = d.map(start, block.mapped, 0, block.handle, 0);
  if (status == CUDA_SUCCESS) {
    const CUmemAccessDesc rights{d.property.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    status = d.access(start, block.mapped, &rights, 1);
    if (status != CUDA_SUCCESS) d.unmap(start, block.mapped);
  }
  if (status != CUDA_SUCCESS) {
    d.unreserve(block.reserved, span);
    d.release(block.handle);
    return failed(status, "cuMemMap", message, capacity);
  }
  *out = reinterpret_cast<void*>(start + (block.mapped - bytes) / 256 * 256);
  const std::lock_guard hold(lock);
  guarded_blocks()[*out] = block;
  return NBX_OK;
}

nbx_status allocate(std::uint64_t bytes, int guard, void** out, char* message, std::size_t capacity) {
  if (guard != 0 && driver().unit != 0) return allocate_guarded(bytes, out, message, capacity);
  const cudaError_t status = cudaMalloc(out, bytes == 0 ? 1 : static_cast<std::size_t>(bytes));
  if (status == cudaSuccess) return NBX_OK;
  write_message(message, capacity, std::string("cudaMalloc: ") + cudaGetErrorString(status));
  return status == cudaErrorMemoryAllocation ? NBX_OUT_OF_MEMORY : NBX_DEVICE_ERROR;
}

void release(void* memory) {
  Guarded block{};
  {
    const std::lock_guard hold(lock);
    const auto found = guarded_blocks().find(memory);
    if (found == guarded_blocks().end()) {
      cudaFree(memory);
      return;
    }
    block = found->second;
    guarded_blocks().erase(found);
  }
  cudaDeviceSynchronize();  // unlike cudaFree, unmapping does not wait
  const Driver& d = driver();
  d.unmap(block.reserved + d.unit, block.mapped);
  d.unreserve(block.reserved, block.mapped + 2 * d.unit);
  d.release(block.handle);
}

nbx_status copied(cudaError_t status) { return status == cudaSuccess ? NBX_OK : NBX_DEVICE_ERROR; }

nbx_status copy_in(void* device, const void* host, std::uint64_t bytes) {
  return copied(cudaMemcpy(device, host, static_cast<std::size_t>(bytes), cudaMemcpyHostToDevice));
}

nbx_status copy_out(void* host, const void* device, std::uint64_t bytes) {
  return copied(cudaMemcpy(host, device, static_cast<std::size_t>(bytes), cudaMemcpyDeviceToHost));
}

nbx_status synchronise(char* message, std::size_t capacity) {
  const cudaError_t status = cudaDeviceSynchronize();
  if (status == cudaSuccess) return NBX_OK;
  write_message(message, capacity, std::string("the device reports: ") + cudaGetErrorString(status));
  return NBX_DEVICE_ERROR;
}

}  // namespace

const nbx_memory& cuda_memory() {
  static const nbx_memory functions{sizeof(nbx_memory),          allocate, release, copy_in, copy_out, synchronise,
                                    driver().unit != 0 ? 1U : 0U};
  return functions;
}

}  // namespace nbx::pack
