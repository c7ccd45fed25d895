#include "kernels/decode/variants.hpp"
#include "kernels/pack/kernels.hpp"
#include "kernels/pack/limits.hpp"

namespace nbx::kernels {

static constexpr char own_name[] = "decode.vec.bf16";
const nbx_kernel decode_vec_bf16 =
    pack::with_limits(pack::describe<decode::VecKernel<tile::bf16, own_name>>(own_name, __FILE__), pack::fold_limits);

}  // namespace nbx::kernels
