#include "kernels/math/chunked.hpp"

#include "kernels/pack/kernels.hpp"

namespace nbx::kernels {

static constexpr char math_name[] = "math.simt.f16";
const nbx_kernel chunked_simt_f16 =
    pack::describe<math::ChunkedKernel<tile::f16, math_name>>("chunked.simt.f16", __FILE__);

}  // namespace nbx::kernels
