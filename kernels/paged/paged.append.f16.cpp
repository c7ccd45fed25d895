#include "kernels/pack/kernels.hpp"
#include "kernels/paged/append.hpp"

namespace nbx::kernels {

const nbx_kernel paged_append_f16 = pack::describe<paged::AppendKernel<tile::f16>>("paged.append.f16", __FILE__);

}  // namespace nbx::kernels
