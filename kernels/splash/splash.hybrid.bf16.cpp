#include "kernels/pack/kernels.hpp"
#include "kernels/pack/limits.hpp"
#include "kernels/splash/kernel.hpp"

namespace nbx::kernels {

const nbx_kernel splash_hybrid_bf16 = pack::with_limits(
    pack::describe<splash::HybridKernel<tile::bf16>>("splash.hybrid.bf16", __FILE__), pack::tight_limits);

}  // namespace nbx::kernels
