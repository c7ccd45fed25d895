#include "kernels/pack/kernels.hpp"
#include "kernels/splash/kernel.hpp"

namespace nbx::kernels {

const nbx_kernel splash_metadata_f16 =
    pack::describe<splash::MetadataKernel<tile::f16>>("splash.metadata.f16", __FILE__);

}  // namespace nbx::kernels
