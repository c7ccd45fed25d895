#include "kernels/pack/kernels.hpp"
#include "kernels/q35/kernel.hpp"

namespace nbx::kernels {

const nbx_kernel q35_merge_bf16 = pack::describe<q35::MergeKernel<tile::bf16>>("q35.merge.bf16", __FILE__);

}  // namespace nbx::kernels
