#include "kernels/decode/variants.hpp"
#include "kernels/pack/kernels.hpp"

namespace nbx::kernels {

static constexpr char vec_name[] = "decode.vec.bf16";
const nbx_kernel decode_split_bf16 =
    pack::describe<decode::SplitKernel<tile::bf16, vec_name>>("decode.split.bf16", __FILE__);

}  // namespace nbx::kernels
