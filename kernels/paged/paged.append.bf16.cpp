#include "kernels/pack/kernels.hpp"
#include "kernels/paged/append.hpp"

namespace nbx::kernels {

const nbx_kernel paged_append_bf16 = pack::describe<paged::AppendKernel<tile::bf16>>("paged.append.bf16", __FILE__);

}  // namespace nbx::kernels
