#include "kernels/math/simt.hpp"
#include "kernels/pack/kernels.hpp"

namespace nbx::kernels {

static constexpr char own_name[] = "math.published.f32";
const nbx_kernel math_published_f32 = pack::describe<math::PublishedKernel<float, own_name>>(own_name, __FILE__);

}  // namespace nbx::kernels
