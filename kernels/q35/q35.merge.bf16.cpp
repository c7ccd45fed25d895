#include "kernels/pack/kernels.hpp"
#include "kernels/pack/limits.hpp"
#include "kernels/q35/kernel.hpp"

namespace nbx::kernels {

const nbx_kernel q35_merge_bf16 =
    pack::with_limits(pack::describe<q35::MergeKernel<tile::bf16>>("q35.merge.bf16", __FILE__), pack::fold_limits);

}  // namespace nbx::kernels
