#include "kernels/flash/matrix.hpp"
#include "kernels/pack/kernels.hpp"
#include "kernels/pack/limits.hpp"

namespace nbx::kernels {

static constexpr char own_name[] = "flash.mma.tf32";
const nbx_kernel flash_mma_tf32 = pack::with_limits(
    pack::describe<flash::MatrixKernel<flash::MatrixCommon<float, unit::M16N8K8TF32, flash::tf32>, own_name>>(own_name,
                                                                                                              __FILE__),
    pack::tight_limits);

}  // namespace nbx::kernels
