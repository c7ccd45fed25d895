#include "kernels/decode/variants.hpp"
#include "kernels/pack/kernels.hpp"
#include "kernels/pack/limits.hpp"

namespace nbx::kernels {

static constexpr char vec_name[] = "decode.vec.f32";
const nbx_kernel decode_split_f32 = pack::with_limits(
    pack::describe<decode::SplitKernel<float, vec_name>>("decode.split.f32", __FILE__), pack::fold_limits);

}  // namespace nbx::kernels
