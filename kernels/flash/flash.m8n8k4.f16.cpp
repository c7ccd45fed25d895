#include "kernels/flash/matrix.hpp"
#include "kernels/pack/kernels.hpp"

namespace nbx::kernels {

static constexpr char own_name[] = "flash.m8n8k4.f16";
const nbx_kernel flash_m8n8k4_f16 =
    pack::describe<flash::MatrixKernel<flash::M8N8K4Common, own_name>>(own_name, __FILE__);

}  // namespace nbx::kernels
