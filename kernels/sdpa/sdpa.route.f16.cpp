#include "kernels/pack/kernels.hpp"
#include "kernels/sdpa/kernel.hpp"

namespace nbx::kernels {

static constexpr char own_name[] = "sdpa.route.f16";
const nbx_kernel sdpa_route_f16 = pack::describe<sdpa::RouteKernel<tile::f16, own_name>>(own_name, __FILE__);

}  // namespace nbx::kernels
