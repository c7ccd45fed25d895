#include "kernels/pack/kernels.hpp"
#include "kernels/pack/limits.hpp"
#include "kernels/paged/decode.hpp"

namespace nbx::kernels {

static constexpr char vec_name[] = "decode.vec.f32";
const nbx_kernel paged_decode_f32 = pack::with_limits(
    pack::describe<paged::DecodeKernel<float, vec_name>>("paged.decode.f32", __FILE__), pack::tight_limits);

}  // namespace nbx::kernels
