#include "kernels/flash/split.hpp"
#include "kernels/pack/kernels.hpp"
#include "kernels/pack/limits.hpp"

namespace nbx::kernels {

static constexpr char own_name[] = "flash.m8n8k4_split.f32";
const nbx_kernel flash_m8n8k4_split_f32 = pack::with_limits(
    pack::describe<flash::MatrixKernel<flash::SplitCommon<>, own_name>>(own_name, __FILE__), pack::tight_limits);

}  // namespace nbx::kernels
