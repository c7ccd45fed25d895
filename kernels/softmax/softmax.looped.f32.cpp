#include "kernels/pack/kernels.hpp"
#include "kernels/softmax/looped.hpp"

namespace nbx::kernels {

static constexpr char tile_name[] = "softmax.tile.f32";
const nbx_kernel softmax_looped_f32 =
    pack::describe<softmax::LoopedKernel<float, false, tile_name>>("softmax.looped.f32", __FILE__);

}  // namespace nbx::kernels
