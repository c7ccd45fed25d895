#include "kernels/decode/variants.hpp"
#include "kernels/pack/kernels.hpp"

namespace nbx::kernels {

const nbx_kernel decode_published_f16 =
    pack::describe<decode::PublishedKernel<tile::f16>>("decode.published.f16", __FILE__);

}  // namespace nbx::kernels
