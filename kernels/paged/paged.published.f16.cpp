#include "kernels/pack/kernels.hpp"
#include "kernels/paged/decode.hpp"

namespace nbx::kernels {

const nbx_kernel paged_published_f16 =
    pack::describe<paged::PublishedKernel<tile::f16>>("paged.published.f16", __FILE__);

}  // namespace nbx::kernels
