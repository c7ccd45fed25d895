#include "kernels/pack/kernels.hpp"
#include "kernels/pack/limits.hpp"
#include "kernels/paged/decode.hpp"

namespace nbx::kernels {

const nbx_kernel paged_published_f16 = pack::with_limits(
    pack::describe<paged::PublishedKernel<tile::f16>>("paged.published.f16", __FILE__), pack::tight_limits);

}  // namespace nbx::kernels
