#include "kernels/decode/variants.hpp"
#include "kernels/pack/kernels.hpp"
#include "kernels/pack/limits.hpp"

namespace nbx::kernels {

static constexpr char own_name[] = "decode.vec.f16";
const nbx_kernel decode_vec_f16 =
    pack::with_limits(pack::describe<decode::VecKernel<tile::f16, own_name>>(own_name, __FILE__), pack::fold_limits);

}  // namespace nbx::kernels
