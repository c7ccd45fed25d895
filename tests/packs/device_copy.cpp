// A pack with a device of its own: host memory behind addresses that no host can touch, so that a harness that reads or
// writes them by itself crashes. With NBX_DEVICE_GUARDS its allocations end at a protected page.
#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <map>

#include "copy_kernel.hpp"

namespace {

using namespace nbx::test;

constexpr std::int64_t moved = std::int64_t{1} << 60;  // outside the address space
bool failed = false;

#ifdef NBX_DEVICE_GUARDS
constexpr std::uint32_t can_guard = 1;

std::map<char*, std::pair<char*, std::size_t>> mappings;

/// Ends at a protected page.
char* allocate_here(std::size_t bytes) {
  constexpr std::size_t page = 4096;
  const std::size_t room = (bytes + page - 1) / page * page;
  void* const mapped = mmap(nullptr, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  char* const start = static_cast<char*>(mapped);
  if (mprotect(start + room, page, PROT_NONE) != 0) return nullptr;
  mappings[start + room - bytes] = {start, room + page};
  return start + room - bytes;
}
void release_here(char* memory) {
  const auto [start, bytes] = mappings.at(memory);
  munmap(start, bytes);
  mappings.erase(memory);
}
#else
constexpr std::uint32_t can_guard = 0;

char* allocate_here(std::size_t bytes) { return static_cast<char*>(std::aligned_alloc(256, bytes)); }
void release_here(char* memory) { std::free(memory); }
#endif

nbx_status allocate(std::uint64_t bytes, int guard, void** out, char* message, std::size_t capacity) {
  char* const memory = static_cast<std::uint32_t>(guard) == can_guard ? allocate_here(bytes) : nullptr;
  if (memory == nullptr) {
    std::snprintf(message, capacity, "no %llu bytes with guard %d", static_cast<unsigned long long>(bytes), guard);
    return NBX_OUT_OF_MEMORY;
  }
  *out = move(memory, moved);
  return NBX_OK;
}
void release(void* memory) { release_here(move(memory, -moved)); }
nbx_status copy_in(void* device, const void* host, std::uint64_t bytes) {
  std::memcpy(move(device, -moved), host, bytes);
  return NBX_OK;
}
nbx_status copy_out(void* host, const void* device, std::uint64_t bytes) {
  if (failed) return NBX_DEVICE_ERROR;
  std::memcpy(host, move(const_cast<void*>(device), -moved), bytes);
  return NBX_OK;
}
nbx_status synchronise(char* message, std::size_t capacity) {
  if (!failed) return NBX_OK;
  std::snprintf(message, capacity, "an illegal address was met");
  return NBX_DEVICE_ERROR;
}

nbx_status run_here(const nbx_kernel*, const nbx_problem* problem, const nbx_launch*, char*, std::size_t) {
  copy_elements(*problem, elements(tensor(*problem, "x")), moved);
  return NBX_OK;
}
nbx_status write_outside(const nbx_kernel* kernel, const nbx_problem* problem, const nbx_launch* launch, char* message,
                         std::size_t capacity) {
  const DLTensor& y = tensor(*problem, "y");
  char* const start = move(first_element(y), -moved);
  start[elements(y) * element_bytes(y) + 4095] = 1;
  start[-4096] = 1;
  return run_here(kernel, problem, launch, message, capacity);
}
nbx_status fail(const nbx_kernel*, const nbx_problem*, const nbx_launch*, char*, std::size_t) {
  failed = true;
  return NBX_OK;
}

nbx_kernel with_run(const char* name,
                    nbx_status (*entry)(const nbx_kernel*, const nbx_problem*, const nbx_launch*, char*, std::size_t)) {
  nbx_kernel kernel = copy_kernel(name);
  kernel.run = entry;
  return kernel;
}

}  // namespace

const nbx_pack* nbx_pack_open(std::uint32_t, char*, std::size_t) {
  static const nbx_kernel plain = with_run("device.plain", run_here),
                          outside = with_run("device.outside", write_outside), fails = with_run("device.fails", fail);
  static const nbx_kernel* const kernels[] = {&plain, &outside, &fails};
  static const nbx_memory memory{sizeof(nbx_memory), allocate, release, copy_in, copy_out, synchronise, can_guard};
  static const nbx_pack pack = [] {
    nbx_pack made = copy_pack("device_copy", kernels, 3);
    made.device = {kDLCUDA, 0};
    made.memory = &memory;
    return made;
  }();
  return &pack;
}
