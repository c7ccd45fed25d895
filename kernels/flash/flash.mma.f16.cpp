#include "kernels/flash/matrix.hpp"
#include "kernels/pack/kernels.hpp"

namespace nbx::kernels {

static constexpr char own_name[] = "flash.mma.f16";
const nbx_kernel flash_mma_f16 =
    pack::describe<flash::MatrixKernel<flash::MatrixCommon<tile::f16, unit::M16N8K16F16, tile::f16>, own_name>>(
        own_name, __FILE__);

}  // namespace nbx::kernels
