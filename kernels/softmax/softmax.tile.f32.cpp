#include "kernels/pack/kernels.hpp"
#include "kernels/softmax/tile.hpp"

namespace nbx::kernels {

const nbx_kernel softmax_tile_f32 = pack::describe<softmax::TileKernel<float, false>>("softmax.tile.f32", __FILE__);

}  // namespace nbx::kernels
