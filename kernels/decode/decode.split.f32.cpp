#include "kernels/decode/variants.hpp"
#include "kernels/pack/kernels.hpp"

namespace nbx::kernels {

static constexpr char vec_name[] = "decode.vec.f32";
const nbx_kernel decode_split_f32 = pack::describe<decode::SplitKernel<float, vec_name>>("decode.split.f32", __FILE__);

}  // namespace nbx::kernels
