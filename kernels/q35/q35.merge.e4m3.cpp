#include "kernels/pack/kernels.hpp"
#include "kernels/pack/limits.hpp"
#include "kernels/q35/kernel.hpp"

namespace nbx::kernels {

const nbx_kernel q35_merge_e4m3 =
    pack::with_limits(pack::describe<q35::MergeKernel<tile::e4m3>>("q35.merge.e4m3", __FILE__), pack::fold_limits);

}  // namespace nbx::kernels
