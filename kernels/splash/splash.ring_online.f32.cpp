#include "kernels/pack/kernels.hpp"
#include "kernels/pack/limits.hpp"
#include "kernels/splash/ring.hpp"

namespace nbx::kernels {

const nbx_kernel splash_ring_online_f32 = pack::with_limits(
    pack::describe<splash::RingOnlineKernel<float>>("splash.ring_online.f32", __FILE__), pack::splash_limits);

}  // namespace nbx::kernels
