#include "kernels/decode/variants.hpp"
#include "kernels/pack/kernels.hpp"
#include "kernels/pack/limits.hpp"

namespace nbx::kernels {

static constexpr char vec_name[] = "decode.vec.f16";
const nbx_kernel decode_split_f16 = pack::with_limits(
    pack::describe<decode::SplitKernel<tile::f16, vec_name>>("decode.split.f16", __FILE__), pack::fold_limits);

}  // namespace nbx::kernels
