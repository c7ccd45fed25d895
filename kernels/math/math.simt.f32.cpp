#include "kernels/math/simt.hpp"
#include "kernels/pack/kernels.hpp"

namespace nbx::kernels {

static constexpr char own_name[] = "math.simt.f32";
const nbx_kernel math_simt_f32 = pack::describe<math::SimtKernel<float, own_name>>(own_name, __FILE__);

}  // namespace nbx::kernels
