#include "kernels/decode/variants.hpp"
#include "kernels/pack/kernels.hpp"
#include "kernels/pack/limits.hpp"

namespace nbx::kernels {

static constexpr char vec_name[] = "decode.vec.bf16";
const nbx_kernel decode_split_bf16 = pack::with_limits(
    pack::describe<decode::SplitKernel<tile::bf16, vec_name>>("decode.split.bf16", __FILE__), pack::fold_limits);

}  // namespace nbx::kernels
