#include "kernels/decode/variants.hpp"
#include "kernels/pack/kernels.hpp"
#include "kernels/pack/limits.hpp"

namespace nbx::kernels {

const nbx_kernel decode_published_f16 = pack::with_limits(
    pack::describe<decode::PublishedKernel<tile::f16>>("decode.published.f16", __FILE__), pack::fold_limits);

}  // namespace nbx::kernels
