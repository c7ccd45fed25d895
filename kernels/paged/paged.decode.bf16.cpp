#include "kernels/pack/kernels.hpp"
#include "kernels/pack/limits.hpp"
#include "kernels/paged/decode.hpp"

namespace nbx::kernels {

static constexpr char vec_name[] = "decode.vec.bf16";
const nbx_kernel paged_decode_bf16 = pack::with_limits(
    pack::describe<paged::DecodeKernel<tile::bf16, vec_name>>("paged.decode.bf16", __FILE__), pack::tight_limits);

}  // namespace nbx::kernels
