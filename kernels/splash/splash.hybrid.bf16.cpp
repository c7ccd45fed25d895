#include "kernels/pack/kernels.hpp"
#include "kernels/splash/kernel.hpp"

namespace nbx::kernels {

const nbx_kernel splash_hybrid_bf16 = pack::describe<splash::HybridKernel<tile::bf16>>("splash.hybrid.bf16", __FILE__);

}  // namespace nbx::kernels
