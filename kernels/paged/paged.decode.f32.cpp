#include "kernels/pack/kernels.hpp"
#include "kernels/paged/decode.hpp"

namespace nbx::kernels {

static constexpr char vec_name[] = "decode.vec.f32";
const nbx_kernel paged_decode_f32 = pack::describe<paged::DecodeKernel<float, vec_name>>("paged.decode.f32", __FILE__);

}  // namespace nbx::kernels
