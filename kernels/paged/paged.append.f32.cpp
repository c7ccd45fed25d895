#include "kernels/pack/kernels.hpp"
#include "kernels/paged/append.hpp"

namespace nbx::kernels {

const nbx_kernel paged_append_f32 = pack::describe<paged::AppendKernel<float>>("paged.append.f32", __FILE__);

}  // namespace nbx::kernels
