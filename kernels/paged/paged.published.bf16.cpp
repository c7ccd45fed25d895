#include "kernels/pack/kernels.hpp"
#include "kernels/paged/decode.hpp"

namespace nbx::kernels {

const nbx_kernel paged_published_bf16 =
    pack::describe<paged::PublishedKernel<tile::bf16>>("paged.published.bf16", __FILE__);

}  // namespace nbx::kernels
