#include "kernels/math/chunked.hpp"

#include "kernels/pack/kernels.hpp"
#include "kernels/pack/limits.hpp"

namespace nbx::kernels {

static constexpr char math_name[] = "math.simt.f16";
const nbx_kernel chunked_simt_f16 = pack::with_limits(
    pack::describe<math::ChunkedKernel<tile::f16, math_name>>("chunked.simt.f16", __FILE__), pack::score_limits);

}  // namespace nbx::kernels
