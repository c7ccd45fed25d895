#include "kernels/math/simt.hpp"
#include "kernels/pack/kernels.hpp"

namespace nbx::kernels {

static constexpr char own_name[] = "math.simt.f16";
const nbx_kernel math_simt_f16 = pack::describe<math::SimtKernel<tile::f16, own_name>>(own_name, __FILE__);

}  // namespace nbx::kernels
