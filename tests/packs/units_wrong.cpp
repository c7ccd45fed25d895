// A pack that claims to be a device of sm_90 and rounds otherwise: 24 places in the f16 unit where the model has 25.
// What the probe must tell.
#include <iterator>

#include "kernels/unit/tiles.hpp"

namespace {

using namespace nbx;

template <class Unit, class T>
constexpr nbx_kernel unit_kernel(const char* name) {
  return pack::describe<unit::TilesKernel<Unit, T>>(name, __FILE__);
}
const nbx_kernel units[] = {unit_kernel<unit::M16N8K16F16, tile::f16>("m16n8k16.mma.f16"),
                            unit_kernel<unit::M16N8K16BF16, tile::bf16>("m16n8k16.mma.bf16"),
                            unit_kernel<unit::M16N8K8TF32, float>("m16n8k8.mma.tf32"),
                            unit_kernel<unit::M16N8K32E4M3, tile::e4m3>("m16n8k32.mma.e4m3"),
                            unit_kernel<unit::M8N8K4F16, tile::f16>("m8n8k4.mma.f16")};
const nbx_kernel* const all_units[] = {&units[0], &units[1], &units[2], &units[3], &units[4]};

}  // namespace

const nbx_pack* nbx_pack_open(std::uint32_t, char*, std::size_t) {
  static const unit::Architecture wrong = [] {
    unit::Architecture of = *unit::architecture("sm_90");
    of.f16.group.kept_bits = 24;
    return of;
  }();
  unit::imitate(wrong);
  static nbx_pack pack{};
  pack.struct_size = sizeof pack;
  pack.pack_interface = NBX_PACK_INTERFACE;
  pack.name = "units_wrong";
  pack.device = {kDLCPU, 0};
  pack.device_name = "wrong";
  pack.imitates = "sm_90";
  pack.toolchain = pack.flags = "";
  pack.kernels = all_units;
  pack.kernel_count = std::size(all_units);
  return &pack;
}
