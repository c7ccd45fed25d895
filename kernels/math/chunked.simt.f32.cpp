#include "kernels/math/chunked.hpp"

#include "kernels/pack/kernels.hpp"

namespace nbx::kernels {

static constexpr char math_name[] = "math.simt.f32";
const nbx_kernel chunked_simt_f32 = pack::describe<math::ChunkedKernel<float, math_name>>("chunked.simt.f32", __FILE__);

}  // namespace nbx::kernels
