#include "kernels/decode/variants.hpp"
#include "kernels/pack/kernels.hpp"
#include "kernels/pack/limits.hpp"

namespace nbx::kernels {

const nbx_kernel decode_published_bf16 = pack::with_limits(
    pack::describe<decode::PublishedKernel<tile::bf16>>("decode.published.bf16", __FILE__), pack::fold_limits);

}  // namespace nbx::kernels
