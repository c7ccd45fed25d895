#include "kernels/flash/kernel.hpp"
#include "kernels/pack/kernels.hpp"

namespace nbx::kernels {

static constexpr char own_name[] = "flash.simt.f32";
const nbx_kernel flash_simt_f32 = pack::describe<flash::SimtKernel<float, own_name>>(own_name, __FILE__);

}  // namespace nbx::kernels
