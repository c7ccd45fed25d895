#include "kernels/pack/kernels.hpp"
#include "kernels/pack/limits.hpp"
#include "kernels/splash/ring.hpp"

namespace nbx::kernels {

const nbx_kernel splash_ring_bf16 =
    pack::with_limits(pack::describe<splash::RingKernel<tile::bf16>>("splash.ring.bf16", __FILE__), pack::tight_limits);

}  // namespace nbx::kernels
