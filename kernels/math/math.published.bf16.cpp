#include "kernels/math/simt.hpp"
#include "kernels/pack/kernels.hpp"

namespace nbx::kernels {

static constexpr char own_name[] = "math.published.bf16";
const nbx_kernel math_published_bf16 = pack::describe<math::PublishedKernel<tile::bf16, own_name>>(own_name, __FILE__);

}  // namespace nbx::kernels
