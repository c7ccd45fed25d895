#include "kernels/pack/kernels.hpp"
#include "kernels/pack/limits.hpp"
#include "kernels/paged/decode.hpp"

namespace nbx::kernels {

const nbx_kernel paged_published_bf16 = pack::with_limits(
    pack::describe<paged::PublishedKernel<tile::bf16>>("paged.published.bf16", __FILE__), pack::tight_limits);

}  // namespace nbx::kernels
