#include "kernels/pack/kernels.hpp"
#include "kernels/pack/limits.hpp"
#include "kernels/splash/ring.hpp"

namespace nbx::kernels {

const nbx_kernel splash_ring_f32 =
    pack::with_limits(pack::describe<splash::RingKernel<float>>("splash.ring.f32", __FILE__), pack::splash_limits);

}  // namespace nbx::kernels
