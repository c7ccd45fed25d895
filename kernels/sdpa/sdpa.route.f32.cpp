#include "kernels/pack/kernels.hpp"
#include "kernels/sdpa/kernel.hpp"

namespace nbx::kernels {

static constexpr char own_name[] = "sdpa.route.f32";
const nbx_kernel sdpa_route_f32 = pack::describe<sdpa::RouteKernel<float, own_name>>(own_name, __FILE__);

}  // namespace nbx::kernels
