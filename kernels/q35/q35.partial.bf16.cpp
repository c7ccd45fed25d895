#include "kernels/pack/kernels.hpp"
#include "kernels/pack/limits.hpp"
#include "kernels/q35/kernel.hpp"

namespace nbx::kernels {

const nbx_kernel q35_partial_bf16 = pack::with_limits(
    pack::describe<q35::PartialKernel<tile::bf16>>("q35.partial.bf16", __FILE__), pack::streaming_limits);

}  // namespace nbx::kernels
