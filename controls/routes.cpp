// sdpa routed wrongly: what a call says that is not heard, and what is lost on the way.
#include <algorithm>
#include <string_view>

#include "controls/faults.hpp"
#include "controls/tables.hpp"
#include "kernels/pack/kernels.hpp"
#include "kernels/sdpa/kernel.hpp"

namespace nbx::controls {
namespace {

constexpr char no_name[] = "";

struct CausalityLostOnDecode : sdpa::Rules {
  static void hand_on(const sdpa::RoutedCall& call, nbx_problem&, std::vector<nbx_param>& params) {
    if (call.operands()[0].shape[2] != 1) return;
    std::erase_if(params, [](const nbx_param& param) { return std::string_view(param.name) == "causal"; });
  }
};

/// The scale is that of the head dim's next power of two.
struct PaddedScale : sdpa::Rules {
  static void hand_on(const sdpa::RoutedCall& call, nbx_problem&, std::vector<nbx_param>& params) {
    float scale = 1.0F;
    for (std::int64_t padded = 1; padded < call.operands()[0].shape[3]; padded *= 4) scale /= 2.0F;
    params.push_back({"scale", NBX_REAL, 0, static_cast<double>(scale), nullptr});
  }
};

/// The profile's text becomes another.
template <const char* Text>
constexpr Fault profile_read_as{.before = [](Call& call) {
  if (call.param("profile") != nullptr) call.set_param({"profile", NBX_TEXT, 0, 0, Text});
}};

constexpr char without_fraction[] = R"({"bytes": 1000000})";
constexpr char any_rows[] = R"({"bytes": 20000, "min_rows": 1, "max_chunks": 8})";

constexpr Fault profile_unheard{.before = [](Call& call) { call.remove_param("profile"); }};
constexpr Fault force_unheard{.before = [](Call& call) { call.remove_param("force_math"); }};

/// A profile that cannot be read counts as none.
constexpr Fault unreadable_is_none{.before = [](Call& call) {
  const nbx_param* const profile = call.param("profile");
  if (profile != nullptr && profile->text != nullptr && profile->text[0] == '/') call.remove_param("profile");
}};

constexpr Fault layout_guessed{.before = [](Call& call) {
  const Tensor& k = call.tensor("k");
  if (call.param("k_transposed") == nullptr && k.rank() == 4 && k.shape[2] == k.shape[3]) {
    call.set_param({"k_transposed", NBX_INT, 0, 0, nullptr});
  }
}};

constexpr Fault layout_unheard{.before = [](Call& call) {
  if (call.param("k_transposed") != nullptr) call.set_param({"k_transposed", NBX_INT, 0, 0, nullptr});
}};

using namespace kernels;

constexpr Mutation rows[] = {
    {.name = "causality_lost_on_decode",
     .planted = "with one query, causality is lost on the way to the kernel",
     .red_at = {"gate1.reference"},
     .problems = {"*Tq=1,*causal=top_left,normal,profile=large"},
     .on = {in_place_of<sdpa::RouteKernel<float, no_name, CausalityLostOnDecode>>(sdpa_route_f32),
            in_place_of<sdpa::RouteKernel<tile::bf16, no_name, CausalityLostOnDecode>>(sdpa_route_bf16)}},
    {.name = "scale_of_padded_head_dim",
     .planted = "the kernel is given the scale of the head dim's next power of two",
     .red_at = {"gate1.reference"},
     .problems = {"B=1,H=4,Hk=2,Tq=9,Tk=70,D=72,normal"},
     .on = {in_place_of<sdpa::RouteKernel<tile::f16, no_name, PaddedScale>>(sdpa_route_f16)}},
    {.name = "profile_unheard",
     .planted = "the profile is not read, and the budget is 0",
     .red_at = {"gate1.route"},
     .problems = {"B=1,H=2,Hk=1,Tq=70,Tk=70,D=64,normal,profile=exact"},
     .on = around(profile_unheard, sdpa_route_f32)},
    {.name = "fraction_unheard",
     .planted = "the budget is not capped by the fraction of the device's memory",
     .red_at = {"gate1.route"},
     .problems = {"*,profile=less_than_half"},
     .on = around(profile_read_as<without_fraction>, sdpa_route_f16)},
    {.name = "rows_not_rounded",
     .planted = "the rows of a chunk are not rounded down to a multiple of min_rows",
     .red_at = {"gate1.route"},
     .problems = {"*causal=bottom_right,normal,profile=small"},
     .on = around(profile_read_as<any_rows>, sdpa_route_bf16)},
    {.name = "force_unheard",
     .planted = "force_math is not heard, and the route goes by the other rules",
     .red_at = {"gate1.route"},
     .problems = {"B=1,H=2,Hk=1,Tq=70,Tk=70,D=64,normal,force_math"},
     .on = around(force_unheard, sdpa_route_bf16)},
    {.name = "layout_unheard",
     .planted = "K is read keys first whatever k_transposed says, where 64 keys of 64 dims fit both ways",
     .red_at = {"gate1.reference"},
     .problems = {"*Tk=64,D=64,normal,k=transposed"},
     .on = around(layout_unheard, sdpa_route_f16)},
    {.name = "layout_guessed",
     .planted = "where Tk = D and nothing is said, K is taken as keys first",
     .red_at = {"gate4.k_layout"},
     .problems = {"B=1,H=4,Hk=2,Tq=9,Tk=70,D=72,normal"},
     .on = around(layout_guessed, sdpa_route_f32)},
    {.name = "unreadable_profile_is_none",
     .planted = "a profile that cannot be read counts as none",
     .red_at = {"gate4.profile"},
     .problems = {"B=1,H=4,Hk=2,Tq=9,Tk=70,D=72,normal"},
     .on = around(unreadable_is_none, sdpa_route_f32)},
};

}  // namespace

std::span<const Mutation> routes() { return rows; }

}  // namespace nbx::controls
