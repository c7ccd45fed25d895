#include "kernels/pack/kernels.hpp"
#include "kernels/q35/kernel.hpp"

namespace nbx::kernels {

const nbx_kernel q35_partial_bf16 = pack::describe<q35::PartialKernel<tile::bf16>>("q35.partial.bf16", __FILE__);

}  // namespace nbx::kernels
