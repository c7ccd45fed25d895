#include "kernels/pack/kernels.hpp"
#include "kernels/paged/decode.hpp"

namespace nbx::kernels {

const nbx_kernel paged_published_f32 = pack::describe<paged::PublishedKernel<float>>("paged.published.f32", __FILE__);

}  // namespace nbx::kernels
