#include "kernels/pack/kernels.hpp"
#include "kernels/paged/decode.hpp"

namespace nbx::kernels {

static constexpr char vec_name[] = "decode.vec.bf16";
const nbx_kernel paged_decode_bf16 =
    pack::describe<paged::DecodeKernel<tile::bf16, vec_name>>("paged.decode.bf16", __FILE__);

}  // namespace nbx::kernels
