#include "kernels/pack/kernels.hpp"
#include "kernels/q35/kernel.hpp"

namespace nbx::kernels {

const nbx_kernel q35_partial_e4m3 = pack::describe<q35::PartialKernel<tile::e4m3>>("q35.partial.e4m3", __FILE__);

}  // namespace nbx::kernels
