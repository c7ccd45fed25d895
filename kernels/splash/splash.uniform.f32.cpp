#include "kernels/pack/kernels.hpp"
#include "kernels/pack/limits.hpp"
#include "kernels/splash/kernel.hpp"

namespace nbx::kernels {

const nbx_kernel splash_uniform_f32 = pack::with_limits(
    pack::describe<splash::UniformKernel<float>>("splash.uniform.f32", __FILE__), pack::splash_limits);

}  // namespace nbx::kernels
