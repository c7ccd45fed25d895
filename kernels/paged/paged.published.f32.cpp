#include "kernels/pack/kernels.hpp"
#include "kernels/pack/limits.hpp"
#include "kernels/paged/decode.hpp"

namespace nbx::kernels {

const nbx_kernel paged_published_f32 = pack::with_limits(
    pack::describe<paged::PublishedKernel<float>>("paged.published.f32", __FILE__), pack::tight_limits);

}  // namespace nbx::kernels
