// The part of the pack of matrix units that takes code for sm_90a: PTX for later architectures cannot hold wgmma.
#include "kernels/pack/warpgroup_units.hpp"
#include "kernels/unit/warpgroup_tiles.hpp"

namespace nbx::kernels {
namespace {

template <class Unit, class T>
constexpr nbx_kernel unit_kernel(const char* name) {
  return pack::describe<unit::WarpgroupKernel<Unit, T>>(name, __FILE__);
}

}  // namespace

const nbx_kernel warpgroup_units[4] = {unit_kernel<unit::WgmmaF16, tile::f16>("m64n8k16.wgmma.f16"),
                                       unit_kernel<unit::WgmmaBF16, tile::bf16>("m64n8k16.wgmma.bf16"),
                                       unit_kernel<unit::WgmmaTF32, float>("m64n8k8.wgmma.tf32"),
                                       unit_kernel<unit::WgmmaE4M3, tile::e4m3>("m64n8k32.wgmma.e4m3")};

}  // namespace nbx::kernels
