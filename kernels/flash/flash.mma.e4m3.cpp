#include "kernels/flash/scaled.hpp"
#include "kernels/pack/kernels.hpp"

namespace nbx::kernels {

static constexpr char own_name[] = "flash.mma.e4m3";
const nbx_kernel flash_mma_e4m3 =
    pack::describe<flash::MatrixKernel<flash::ScaledCommon<>, own_name>>(own_name, __FILE__);

}  // namespace nbx::kernels
