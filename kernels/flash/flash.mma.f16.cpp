#include "kernels/flash/mma.hpp"
#include "kernels/pack/kernels.hpp"
#include "kernels/pack/limits.hpp"

namespace nbx::kernels {

static constexpr char own_name[] = "flash.mma.f16";
const nbx_kernel flash_mma_f16 = pack::with_limits(
    pack::describe<flash::MatrixKernel<flash::MmaCommon<tile::f16, unit::M16N8K16F16>, own_name>>(own_name, __FILE__),
    pack::fragment_limits);

}  // namespace nbx::kernels
