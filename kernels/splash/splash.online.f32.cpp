#include "kernels/pack/kernels.hpp"
#include "kernels/splash/kernel.hpp"

namespace nbx::kernels {

const nbx_kernel splash_online_f32 = pack::describe<splash::OnlineKernel<float>>("splash.online.f32", __FILE__);

}  // namespace nbx::kernels
