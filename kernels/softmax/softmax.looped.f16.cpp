#include "kernels/pack/kernels.hpp"
#include "kernels/softmax/looped.hpp"

namespace nbx::kernels {

static constexpr char tile_name[] = "softmax.tile.f16";
const nbx_kernel softmax_looped_f16 =
    pack::describe<softmax::LoopedKernel<tile::f16, false, tile_name>>("softmax.looped.f16", __FILE__);

}  // namespace nbx::kernels
