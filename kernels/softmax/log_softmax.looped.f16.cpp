#include "kernels/pack/kernels.hpp"
#include "kernels/softmax/looped.hpp"

namespace nbx::kernels {

static constexpr char tile_name[] = "log_softmax.tile.f16";
const nbx_kernel log_softmax_looped_f16 =
    pack::describe<softmax::LoopedKernel<tile::f16, true, tile_name>>("log_softmax.looped.f16", __FILE__);

}  // namespace nbx::kernels
