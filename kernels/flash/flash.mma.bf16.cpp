#include "kernels/flash/mma.hpp"
#include "kernels/pack/kernels.hpp"
#include "kernels/pack/limits.hpp"

namespace nbx::kernels {

static constexpr char own_name[] = "flash.mma.bf16";
const nbx_kernel flash_mma_bf16 = pack::with_limits(
    pack::describe<flash::MatrixKernel<flash::MmaCommon<tile::bf16, unit::M16N8K16BF16>, own_name>>(own_name, __FILE__),
    pack::fragment_limits);

}  // namespace nbx::kernels
