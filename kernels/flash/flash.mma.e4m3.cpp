#include "kernels/flash/scaled.hpp"
#include "kernels/pack/kernels.hpp"
#include "kernels/pack/limits.hpp"

namespace nbx::kernels {

static constexpr char own_name[] = "flash.mma.e4m3";
const nbx_kernel flash_mma_e4m3 = pack::with_limits(
    pack::describe<flash::MatrixKernel<flash::ScaledCommon<>, own_name>>(own_name, __FILE__), pack::tight_limits);

}  // namespace nbx::kernels
