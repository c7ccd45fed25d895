#include "kernels/pack/kernels.hpp"
#include "kernels/splash/kernel.hpp"

namespace nbx::kernels {

const nbx_kernel splash_online_bf16 = pack::describe<splash::OnlineKernel<tile::bf16>>("splash.online.bf16", __FILE__);

}  // namespace nbx::kernels
