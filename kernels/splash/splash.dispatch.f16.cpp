#include "kernels/pack/kernels.hpp"
#include "kernels/pack/limits.hpp"
#include "kernels/splash/kernel.hpp"

namespace nbx::kernels {

const nbx_kernel splash_dispatch_f16 = pack::with_limits(
    pack::describe<splash::DispatchKernel<tile::f16>>("splash.dispatch.f16", __FILE__), pack::tight_limits);

}  // namespace nbx::kernels
