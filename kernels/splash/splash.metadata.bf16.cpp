#include "kernels/pack/kernels.hpp"
#include "kernels/splash/kernel.hpp"

namespace nbx::kernels {

const nbx_kernel splash_metadata_bf16 =
    pack::describe<splash::MetadataKernel<tile::bf16>>("splash.metadata.bf16", __FILE__);

}  // namespace nbx::kernels
