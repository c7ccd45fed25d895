#include "kernels/math/simt.hpp"
#include "kernels/pack/kernels.hpp"

namespace nbx::kernels {

static constexpr char own_name[] = "math.simt.bf16";
const nbx_kernel math_simt_bf16 = pack::describe<math::SimtKernel<tile::bf16, own_name>>(own_name, __FILE__);

}  // namespace nbx::kernels
