#include "kernels/flash/wgmma.hpp"
#include "kernels/pack/kernels.hpp"
#include "kernels/pack/limits.hpp"

namespace nbx::kernels {

static constexpr char own_name[] = "flash.wgmma.bf16", mma_name[] = "flash.mma.bf16";
const nbx_kernel flash_wgmma_bf16 = pack::with_limits(
    pack::describe<flash::WgmmaKernel<flash::WgmmaCommon<tile::bf16, unit::M16N8K16BF16>, own_name, mma_name>>(
        own_name, __FILE__),
    pack::fragment_limits);

}  // namespace nbx::kernels
