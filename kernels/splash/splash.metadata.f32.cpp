#include "kernels/pack/kernels.hpp"
#include "kernels/pack/limits.hpp"
#include "kernels/splash/kernel.hpp"

namespace nbx::kernels {

const nbx_kernel splash_metadata_f32 = pack::with_limits(
    pack::describe<splash::MetadataKernel<float>>("splash.metadata.f32", __FILE__), pack::tight_limits);

}  // namespace nbx::kernels
