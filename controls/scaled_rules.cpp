// flash on operands in e4m3 with one rule replaced: scales of heads, the narrowing of weights, and the order of terms
// in the unit, which only the other back end's bits can tell.
#include "controls/faults.hpp"
#include "controls/mutation.hpp"
#include "controls/tables.hpp"
#include "kernels/flash/scaled.hpp"
#include "kernels/pack/kernels.hpp"

namespace nbx::controls {
namespace {

using flash::ScaledOperands;
using flash::ScaledRules;

template <class R>
constexpr Target in_scaled() {
  return in_place_of<flash::ScaledCommon<R>>(kernels::flash_mma_e4m3);
}

/// The heads of a tensor of scales in reverse.
template <const char* const* name>
constexpr Fault heads_swapped{.before = [](Call& call) { call.tensor(*name).reverse(1); }};
constexpr const char* q_scale = "q_scale";
constexpr const char* k_scale = "k_scale";
constexpr const char* v_scale = "v_scale";

/// Every sequence reads the scales of the first.
constexpr Fault first_sequence{.before = [](Call& call) {
  for (const char* name : {"q_scale", "k_scale", "v_scale"}) call.tensor(name).stride[0] = 0;
}};

struct NoValueScale : ScaledRules {
  NBX_FUNCTION static float value_scale(const ScaledOperands&, std::int64_t, std::int64_t) {
    return 1.0F / weight_scale;
  }
};
struct ValueScaleTwice : ScaledRules {
  NBX_FUNCTION static float value_scale(const ScaledOperands& a, std::int64_t b, std::int64_t kv_head) {
    const float once = ScaledRules::value_scale(a, b, kv_head);
    return once * once * weight_scale;
  }
};
struct NoQueryScale : ScaledRules {
  NBX_FUNCTION static float head_scale(const ScaledOperands& a, std::int64_t b, std::int64_t, std::int64_t kv_head) {
    return a.k_scale[b * a.k_scale_at.stride[0] + kv_head * a.k_scale_at.stride[1]] * a.scale;
  }
};
struct KeyScaleOfQueryHead : ScaledRules {
  NBX_FUNCTION static float head_scale(const ScaledOperands& a, std::int64_t b, std::int64_t head, std::int64_t) {
    return ScaledRules::head_scale(a, b, head, head % a.Hk);
  }
};

/// Down to 2^-9 alone.
struct WeightsUnscaled : ScaledRules {
  template <class T>
  NBX_FUNCTION static float narrowed(float weight) {
    return tile::narrow<tile::e4m3>(weight) * weight_scale;
  }
};
/// Past 448 the largest number stands.
struct WeightsSaturate : ScaledRules {
  template <class T>
  NBX_FUNCTION static float narrowed(float weight) {
    return tile::narrow<tile::e4m3>(weight * (4 * weight_scale)) * 0.25F;
  }
};
/// One format further: two bits of fraction.
struct WeightsInE5M2 : ScaledRules {
  template <class T>
  NBX_FUNCTION static float narrowed(float weight) {
    return tile::narrow<tile::e5m2>(weight * weight_scale);
  }
};
struct RescaleMissing : ScaledRules {
  NBX_FUNCTION static float rescale(float, float) { return 1.0F; }
};

struct HiddenValuesReach : ScaledRules {
  template <class Block>
  NBX_DEVICE static void add_non_finite(Block&, tile::Tile<float>, tile::Tile<float>, tile::Tile<float>, int, int,
                                        int) {}
};

/// m16n8k32 with its two groups of 16 one behind the other.
struct GroupsInOrder : ScaledRules {
  struct InOrder {
    static constexpr int k = 32;
    static constexpr unit::OperandFormat format = unit::f16_operand;
    static constexpr bool adds_at_the_end = true;
  };
  template <class R, class Block>
  NBX_DEVICE static void multiply(Block&, tile::Tile<float> sum, tile::Tile<float> a, tile::Tile<float> b, int rows,
                                  int columns, int depth) {
    unit::multiply(unit::Matrices{a.at, b.at, sum.at, a.stride, b.stride, sum.stride, rows, columns, depth},
                   Unit::known(unit::imitated()).group, InOrder{});
  }
};

constexpr char ordinary[] = "B=1,H=3,Hk=1,Tq=7,Tk=63,D=72,normal";
constexpr char grouped[] = "B=3,H=6,Hk=2,Tq=9,Tk=65,D=80,Dv=24,normal";
constexpr char rising[] = "B=1,H=2,Hk=1,Tq=16,Tk=300,D=64,rising";

constexpr Mutation rows[] = {
    {.name = "query_scales_swapped",
     .planted = "heads take each other's scale of queries",
     .red_at = {"gate1.reference"},
     .problems = {grouped},
     .on = around(heads_swapped<&q_scale>, kernels::flash_mma_e4m3)},
    {.name = "key_scales_swapped",
     .planted = "KV heads take each other's scale of keys",
     .red_at = {"gate1.reference"},
     .problems = {grouped},
     .on = around(heads_swapped<&k_scale>, kernels::flash_mma_e4m3)},
    {.name = "value_scales_swapped",
     .planted = "KV heads take each other's scale of values",
     .red_at = {"gate1.reference"},
     .problems = {grouped},
     .on = around(heads_swapped<&v_scale>, kernels::flash_mma_e4m3)},
    {.name = "scales_of_first_sequence",
     .planted = "every sequence takes the scales of the first",
     .red_at = {"gate1.reference"},
     .problems = {grouped},
     .on = around(first_sequence, kernels::flash_mma_e4m3)},
    {.name = "key_scale_by_query_head",
     .planted = "the scale of keys is taken by the query head in place of its KV head",
     .red_at = {"gate1.reference"},
     .problems = {grouped},
     .on = {in_scaled<KeyScaleOfQueryHead>()}},
    {.name = "query_scale_dropped",
     .planted = "scores are not multiplied by the scale of queries",
     .red_at = {"gate1.reference"},
     .problems = {ordinary},
     .on = {in_scaled<NoQueryScale>()}},
    {.name = "value_scale_dropped",
     .planted = "O is not multiplied by the scale of values",
     .red_at = {"gate1.reference"},
     .problems = {ordinary},
     .on = {in_scaled<NoValueScale>()}},
    {.name = "value_scale_twice",
     .planted = "O is multiplied by the scale of values twice",
     .red_at = {"gate1.reference"},
     .problems = {ordinary},
     .on = {in_scaled<ValueScaleTwice>()}},
    {.name = "weights_unscaled",
     .planted = "weights are narrowed as they are: below 2^-10 they vanish",
     .red_at = {"gate1.reference"},
     .problems = {"*,faint"},
     .on = {in_scaled<WeightsUnscaled>()}},
    {.name = "weights_saturate",
     .planted = "weights are narrowed as 1,024 times themselves, and saturate from 0.44 on",
     .red_at = {"gate1.reference"},
     .problems = {ordinary, "B=1,H=2,Hk=1,Tq=16,Tk=200,D=64,zero_query"},
     .on = {in_scaled<WeightsSaturate>()}},
    {.name = "weights_one_format_too_far",
     .planted = "weights are narrowed to e5m2, with two bits of fraction",
     .red_at = {"gate1.reference"},
     .problems = {"B=1,H=2,Hk=1,Tq=20,Tk=3,D=16,normal"},
     .on = {in_scaled<WeightsInE5M2>()}},
    {.name = "unit_groups_in_order",
     .planted =
         "the model of the unit takes its two groups of 16 one behind the other in place of interleaved by pairs",
     .red_at = {"gate3.twin"},
     .problems = {"*,wide"},
     .on = {in_scaled<GroupsInOrder>()}},
    {.name = "rescale_missing",
     .planted = "the sum and O of an older maximum are not rescaled",
     .red_at = {"gate1.reference"},
     .problems = {rising},
     .on = {in_scaled<RescaleMissing>()}},
    {.name = "hidden_values_reach",
     .planted = "the unit multiplies NaN values by the 0 of rows that do not see them",
     .red_at = {"gate1.reference"},
     .problems = {"*,plant=partly_hidden_nan", "*,plant=masked_nan_value"},
     .on = {in_scaled<HiddenValuesReach>()}},
};

}  // namespace

std::span<const Mutation> scaled_rules() { return rows; }

}  // namespace nbx::controls
