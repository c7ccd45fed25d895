#include "kernels/pack/kernels.hpp"
#include "kernels/softmax/looped.hpp"

namespace nbx::kernels {

static constexpr char tile_name[] = "log_softmax.tile.f32";
const nbx_kernel log_softmax_looped_f32 =
    pack::describe<softmax::LoopedKernel<float, true, tile_name>>("log_softmax.looped.f32", __FILE__);

}  // namespace nbx::kernels
