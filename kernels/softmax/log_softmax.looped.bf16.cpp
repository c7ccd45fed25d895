#include "kernels/pack/kernels.hpp"
#include "kernels/softmax/looped.hpp"

namespace nbx::kernels {

static constexpr char tile_name[] = "log_softmax.tile.bf16";
const nbx_kernel log_softmax_looped_bf16 =
    pack::describe<softmax::LoopedKernel<tile::bf16, true, tile_name>>("log_softmax.looped.bf16", __FILE__);

}  // namespace nbx::kernels
