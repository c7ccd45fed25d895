#include "kernels/pack/kernels.hpp"
#include "kernels/splash/kernel.hpp"

namespace nbx::kernels {

const nbx_kernel splash_hybrid_f32 = pack::describe<splash::HybridKernel<float>>("splash.hybrid.f32", __FILE__);

}  // namespace nbx::kernels
