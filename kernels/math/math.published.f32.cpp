#include "kernels/math/simt.hpp"
#include "kernels/pack/kernels.hpp"
#include "kernels/pack/limits.hpp"

namespace nbx::kernels {

static constexpr char own_name[] = "math.published.f32";
const nbx_kernel math_published_f32 =
    pack::with_limits(pack::describe<math::PublishedKernel<float, own_name>>(own_name, __FILE__), pack::score_limits);

}  // namespace nbx::kernels
