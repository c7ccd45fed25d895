#include "kernels/pack/kernels.hpp"
#include "kernels/pack/limits.hpp"
#include "kernels/splash/kernel.hpp"

namespace nbx::kernels {

const nbx_kernel splash_online_f16 = pack::with_limits(
    pack::describe<splash::OnlineKernel<tile::f16>>("splash.online.f16", __FILE__), pack::tight_limits);

}  // namespace nbx::kernels
