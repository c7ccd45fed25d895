// The CPU pack: every kernel through the CPU back end of the tile layer.
#include <cstdio>
#include <cstring>
#include <iterator>
#include <string>

#include "kernels/pack/imitate.hpp"
#include "kernels/pack/kernels.hpp"
#include "kernels/pack/refusal.hpp"

namespace {

/// The processor's name as Linux tells it.
std::string processor() {
  std::string name = "host";
  if (std::FILE* const info = std::fopen("/proc/cpuinfo", "r"); info != nullptr) {
    char line[256];
    while (std::fgets(line, sizeof line, info) != nullptr) {
      if (std::strncmp(line, "model name", 10) != 0) continue;
      const char* const colon = std::strchr(line, ':');
      if (colon != nullptr) name = std::string(colon + 2, std::strcspn(colon + 2, "\n"));
      break;
    }
    std::fclose(info);
  }
  return name;
}

}  // namespace

const nbx_pack* nbx_pack_open(std::uint32_t pack_interface, char* message, std::size_t capacity) {
  if (pack_interface != NBX_PACK_INTERFACE) {
    nbx::pack::write_message(
        message, capacity,
        "pack interface: " + std::to_string(pack_interface) + "; accepted: " + std::to_string(NBX_PACK_INTERFACE));
    return nullptr;
  }
  if (const std::string wrong = nbx::pack::choose_imitated(); !wrong.empty()) {
    nbx::pack::write_message(message, capacity, wrong);
    return nullptr;
  }
  static const std::string device_name = processor();
  static nbx_pack pack{};
  pack.struct_size = sizeof(nbx_pack);
  pack.pack_interface = NBX_PACK_INTERFACE;
  pack.name = "cpu";
  pack.device = {kDLCPU, 0};
  pack.device_name = device_name.c_str();
  pack.imitates = nbx::unit::imitated().name.data();  // of a literal, which ends it
  pack.toolchain = NBX_TOOLCHAIN;
  pack.flags = NBX_FLAGS;
  pack.kernels = nbx::kernels::all;
  pack.kernel_count = std::size(nbx::kernels::all);
  pack.compile_commands = "cpu.units.json";
  return &pack;
}
