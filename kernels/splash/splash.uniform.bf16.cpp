#include "kernels/pack/kernels.hpp"
#include "kernels/splash/kernel.hpp"

namespace nbx::kernels {

const nbx_kernel splash_uniform_bf16 =
    pack::describe<splash::UniformKernel<tile::bf16>>("splash.uniform.bf16", __FILE__);

}  // namespace nbx::kernels
