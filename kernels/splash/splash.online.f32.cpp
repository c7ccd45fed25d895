#include "kernels/pack/kernels.hpp"
#include "kernels/pack/limits.hpp"
#include "kernels/splash/kernel.hpp"

namespace nbx::kernels {

const nbx_kernel splash_online_f32 =
    pack::with_limits(pack::describe<splash::OnlineKernel<float>>("splash.online.f32", __FILE__), pack::splash_limits);

}  // namespace nbx::kernels
