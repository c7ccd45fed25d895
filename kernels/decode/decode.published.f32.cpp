#include "kernels/decode/variants.hpp"
#include "kernels/pack/kernels.hpp"
#include "kernels/pack/limits.hpp"

namespace nbx::kernels {

const nbx_kernel decode_published_f32 = pack::with_limits(
    pack::describe<decode::PublishedKernel<float>>("decode.published.f32", __FILE__), pack::fold_limits);

}  // namespace nbx::kernels
