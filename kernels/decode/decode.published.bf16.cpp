#include "kernels/decode/variants.hpp"
#include "kernels/pack/kernels.hpp"

namespace nbx::kernels {

const nbx_kernel decode_published_bf16 =
    pack::describe<decode::PublishedKernel<tile::bf16>>("decode.published.bf16", __FILE__);

}  // namespace nbx::kernels
