#include "kernels/pack/kernels.hpp"
#include "kernels/pack/limits.hpp"
#include "kernels/splash/kernel.hpp"

namespace nbx::kernels {

const nbx_kernel splash_uniform_bf16 = pack::with_limits(
    pack::describe<splash::UniformKernel<tile::bf16>>("splash.uniform.bf16", __FILE__), pack::tight_limits);

}  // namespace nbx::kernels
