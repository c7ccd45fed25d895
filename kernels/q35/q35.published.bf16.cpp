#include "kernels/pack/kernels.hpp"
#include "kernels/q35/kernel.hpp"

namespace nbx::kernels {

const nbx_kernel q35_published_bf16 =
    pack::describe<q35::MergeKernel<tile::bf16, q35::Rules, q35::PublishedRules>>("q35.published.bf16", __FILE__);

}  // namespace nbx::kernels
