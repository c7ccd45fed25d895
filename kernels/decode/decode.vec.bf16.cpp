#include "kernels/decode/variants.hpp"
#include "kernels/pack/kernels.hpp"

namespace nbx::kernels {

static constexpr char own_name[] = "decode.vec.bf16";
const nbx_kernel decode_vec_bf16 = pack::describe<decode::VecKernel<tile::bf16, own_name>>(own_name, __FILE__);

}  // namespace nbx::kernels
