#include "kernels/pack/kernels.hpp"
#include "kernels/sdpa/kernel.hpp"

namespace nbx::kernels {

static constexpr char own_name[] = "sdpa.route.bf16";
const nbx_kernel sdpa_route_bf16 = pack::describe<sdpa::RouteKernel<tile::bf16, own_name>>(own_name, __FILE__);

}  // namespace nbx::kernels
