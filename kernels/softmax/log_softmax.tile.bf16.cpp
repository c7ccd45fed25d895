#include "kernels/pack/kernels.hpp"
#include "kernels/softmax/tile.hpp"

namespace nbx::kernels {

const nbx_kernel log_softmax_tile_bf16 =
    pack::describe<softmax::TileKernel<tile::bf16, true>>("log_softmax.tile.bf16", __FILE__);

}  // namespace nbx::kernels
