#include "kernels/decode/variants.hpp"
#include "kernels/pack/kernels.hpp"

namespace nbx::kernels {

static constexpr char own_name[] = "decode.vec.f16";
const nbx_kernel decode_vec_f16 = pack::describe<decode::VecKernel<tile::f16, own_name>>(own_name, __FILE__);

}  // namespace nbx::kernels
