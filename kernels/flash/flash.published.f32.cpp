#include "kernels/flash/kernel.hpp"
#include "kernels/pack/kernels.hpp"
#include "kernels/pack/limits.hpp"

namespace nbx::kernels {

static constexpr char own_name[] = "flash.published.f32";
const nbx_kernel flash_published_f32 =
    pack::with_limits(pack::describe<flash::PublishedKernel<float, own_name>>(own_name, __FILE__), pack::tight_limits);

}  // namespace nbx::kernels
