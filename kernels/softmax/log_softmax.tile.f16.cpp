#include "kernels/pack/kernels.hpp"
#include "kernels/softmax/tile.hpp"

namespace nbx::kernels {

const nbx_kernel log_softmax_tile_f16 =
    pack::describe<softmax::TileKernel<tile::f16, true>>("log_softmax.tile.f16", __FILE__);

}  // namespace nbx::kernels
