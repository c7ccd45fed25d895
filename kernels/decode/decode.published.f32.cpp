#include "kernels/decode/variants.hpp"
#include "kernels/pack/kernels.hpp"

namespace nbx::kernels {

const nbx_kernel decode_published_f32 =
    pack::describe<decode::PublishedKernel<float>>("decode.published.f32", __FILE__);

}  // namespace nbx::kernels
