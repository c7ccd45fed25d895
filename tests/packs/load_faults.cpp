// A pack that cannot be used. Compiled once for each fault, with NBX_LOAD_FAULT set to its number.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#include "copy_kernel.hpp"

namespace {

using namespace nbx::test;

enum Fault {
  other_interface = 1,
  no_symbol,
  crashes_on_load,
  hangs_on_load,
  hangs_on_open,
  throws_on_open,
  declines,
  null_entry,
  small_pack,
  small_kernel,
  no_kernels,
  null_kernels,
  same_name,
  odd_alignment,
  half_a_memory,
  wild_name
};

#if NBX_LOAD_FAULT == 3
[[maybe_unused]] const bool never = (std::abort(), true);
#elif NBX_LOAD_FAULT == 4
[[maybe_unused]] const bool never = [] {
  for (;;) pause();
  return true;
}();
#endif

}  // namespace

#if NBX_LOAD_FAULT == 2
extern "C" NBX_EXPORT int nbx_pack_opened() { return 0; }
#else
const nbx_pack* nbx_pack_open(std::uint32_t, [[maybe_unused]] char* message, [[maybe_unused]] std::size_t capacity) {
  constexpr int fault = NBX_LOAD_FAULT;
  static nbx_kernel kernel = copy_kernel("copy.plain"), other = copy_kernel("copy.other");
  static const nbx_kernel* const kernels[] = {&kernel, &other};
  static nbx_memory memory{};
  static nbx_pack pack = copy_pack("load_faults", kernels, 2);
  if (fault == hangs_on_open) {
    for (;;) pause();
  }
  if (fault == throws_on_open) throw std::runtime_error("no licence");
  if (fault == declines) {
    std::snprintf(message, capacity, "no device is fast enough");
    return nullptr;
  }
  if (fault == other_interface) pack.pack_interface = NBX_PACK_INTERFACE + 1;
  if (fault == null_entry) other.check = nullptr;
  if (fault == small_pack) pack.struct_size = 40;
  if (fault == small_kernel) other.struct_size = 16;
  if (fault == no_kernels) pack.kernel_count = 0;
  if (fault == null_kernels) pack.kernels = nullptr;
  if (fault == same_name) other.name = "copy.plain";
  if (fault == odd_alignment) other.alignment = 3;
  if (fault == half_a_memory) {
    memory.struct_size = sizeof memory;
    memory.release = std::free;
    pack.memory = &memory;
  }
  if (fault == wild_name) other.name = reinterpret_cast<const char*>(8);
  return &pack;
}
#endif
