#include "kernels/pack/kernels.hpp"
#include "kernels/q35/kernel.hpp"

namespace nbx::kernels {

const nbx_kernel q35_merge_e4m3 = pack::describe<q35::MergeKernel<tile::e4m3>>("q35.merge.e4m3", __FILE__);

}  // namespace nbx::kernels
