#include "kernels/pack/kernels.hpp"
#include "kernels/splash/kernel.hpp"

namespace nbx::kernels {

const nbx_kernel splash_online_f16 = pack::describe<splash::OnlineKernel<tile::f16>>("splash.online.f16", __FILE__);

}  // namespace nbx::kernels
