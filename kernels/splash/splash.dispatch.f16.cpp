#include "kernels/pack/kernels.hpp"
#include "kernels/splash/kernel.hpp"

namespace nbx::kernels {

const nbx_kernel splash_dispatch_f16 =
    pack::describe<splash::DispatchKernel<tile::f16>>("splash.dispatch.f16", __FILE__);

}  // namespace nbx::kernels
