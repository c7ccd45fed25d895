// A pack that claims to be a device of sm_90 and rounds otherwise: 24 places in the f16 unit where the model has 25, in
// that of wgmma too, and in fp8's own path one bit of the result more. What the probe must tell.
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
                            unit_kernel<unit::M8N8K4F16, tile::f16>("m8n8k4.mma.f16"),
                            unit_kernel<unit::WgmmaF16, tile::f16>("m64n8k16.wgmma.f16"),
                            unit_kernel<unit::WgmmaBF16, tile::bf16>("m64n8k16.wgmma.bf16"),
                            unit_kernel<unit::WgmmaTF32, float>("m64n8k8.wgmma.tf32"),
                            unit_kernel<unit::WgmmaE4M3, tile::e4m3>("m64n8k32.wgmma.e4m3")};
const nbx_kernel* const all_units[] = {&units[0], &units[1], &units[2], &units[3], &units[4],
                                       &units[5], &units[6], &units[7], &units[8]};

}  // namespace

const nbx_pack* nbx_pack_open(std::uint32_t, char*, std::size_t) {
  static const unit::Architecture wrong = [] {
    unit::Architecture of = *unit::architecture("sm_90");
    of.f16.group.kept_bits = of.wgmma_f16.group.kept_bits = 24;
    of.wgmma_e4m3.group.result_bits = 15;
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
