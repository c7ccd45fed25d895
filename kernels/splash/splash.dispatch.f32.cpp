#include "kernels/pack/kernels.hpp"
#include "kernels/splash/kernel.hpp"

namespace nbx::kernels {

const nbx_kernel splash_dispatch_f32 = pack::describe<splash::DispatchKernel<float>>("splash.dispatch.f32", __FILE__);

}  // namespace nbx::kernels
