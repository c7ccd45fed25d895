#include "kernels/flash/matrix.hpp"
#include "kernels/pack/kernels.hpp"

namespace nbx::kernels {

static constexpr char own_name[] = "flash.mma.bf16";
const nbx_kernel flash_mma_bf16 =
    pack::describe<flash::MatrixKernel<flash::MatrixCommon<tile::bf16, unit::M16N8K16BF16, tile::bf16>, own_name>>(
        own_name, __FILE__);

}  // namespace nbx::kernels
