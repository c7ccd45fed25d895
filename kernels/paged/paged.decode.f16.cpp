#include "kernels/pack/kernels.hpp"
#include "kernels/paged/decode.hpp"

namespace nbx::kernels {

static constexpr char vec_name[] = "decode.vec.f16";
const nbx_kernel paged_decode_f16 =
    pack::describe<paged::DecodeKernel<tile::f16, vec_name>>("paged.decode.f16", __FILE__);

}  // namespace nbx::kernels
