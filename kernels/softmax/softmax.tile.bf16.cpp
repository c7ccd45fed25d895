#include "kernels/pack/kernels.hpp"
#include "kernels/softmax/tile.hpp"

namespace nbx::kernels {

const nbx_kernel softmax_tile_bf16 =
    pack::describe<softmax::TileKernel<tile::bf16, false>>("softmax.tile.bf16", __FILE__);

}  // namespace nbx::kernels
