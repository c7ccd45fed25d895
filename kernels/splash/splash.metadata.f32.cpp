#include "kernels/pack/kernels.hpp"
#include "kernels/splash/kernel.hpp"

namespace nbx::kernels {

const nbx_kernel splash_metadata_f32 = pack::describe<splash::MetadataKernel<float>>("splash.metadata.f32", __FILE__);

}  // namespace nbx::kernels
