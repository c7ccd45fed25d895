#include "kernels/math/chunked.hpp"

#include "kernels/pack/kernels.hpp"
#include "kernels/pack/limits.hpp"

namespace nbx::kernels {

static constexpr char math_name[] = "math.simt.f32";
const nbx_kernel chunked_simt_f32 = pack::with_limits(
    pack::describe<math::ChunkedKernel<float, math_name>>("chunked.simt.f32", __FILE__), pack::score_limits);

}  // namespace nbx::kernels
