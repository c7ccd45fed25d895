#include "kernels/math/simt.hpp"
#include "kernels/pack/kernels.hpp"
#include "kernels/pack/limits.hpp"

namespace nbx::kernels {

static constexpr char own_name[] = "math.simt.f16";
const nbx_kernel math_simt_f16 =
    pack::with_limits(pack::describe<math::SimtKernel<tile::f16, own_name>>(own_name, __FILE__), pack::score_limits);

}  // namespace nbx::kernels
