#include "kernels/pack/kernels.hpp"
#include "kernels/splash/kernel.hpp"

namespace nbx::kernels {

const nbx_kernel splash_dispatch_bf16 =
    pack::describe<splash::DispatchKernel<tile::bf16>>("splash.dispatch.bf16", __FILE__);

}  // namespace nbx::kernels
