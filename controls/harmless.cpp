// Changes that no bit shows, or that the bound allows. A row is as sharp as the others: it is green at every clause but
// those that it names.
#include "controls/faults.hpp"
#include "controls/math_parts.hpp"
#include "controls/tables.hpp"
#include "kernels/softmax/looped.hpp"
#include "kernels/softmax/tile.hpp"

namespace nbx::controls {
namespace {

struct SwappedSum : softmax::Rules {
  struct Sum {
    static constexpr float identity = 0.0F;
    NBX_FUNCTION static float combine(float a, float b) { return b + a; }
  };
};

struct NanDroppedByMax : softmax::Rules {
  struct Max {
    static constexpr float identity = -__builtin_huge_valf();
    NBX_FUNCTION static float combine(float a, float b) { return a > b ? a : (tile::is_nan(b) ? a : b); }
  };
};

struct MembersBackwards : math::Rules {
  template <class A>
  NBX_FUNCTION static std::int64_t head(const A& a, std::int64_t kv_head, std::int64_t member) {
    return math::Rules::head(a, kv_head, a.group - 1 - member);
  }
};

constexpr Fault features_backwards{.before = [](Call& call) {
  const int axis = axis_of(call);
  for (const char* name : {"x", "y"}) call.tensor(name).reverse(axis);
}};

using namespace kernels;

constexpr Mutation rows[] = {
    {.name = "sum_swapped",
     .planted = "the terms of each addition of the row sum change places; IEEE 754 addition is commutative",
     .problems = {"shape=33x65,axis=-1,normal", "shape=6x70,axis=-1,masked_row"},
     .on = {in_place_of<softmax::TileKernel<float, false, SwappedSum>>(softmax_tile_f32)},
     .verdict = "equivalent"},
    {.name = "nan_dropped_by_max",
     .planted = "the maximum passes over NaN; the weight of a NaN feature is NaN all the same, and with it the sum and "
                "every quotient; a row without NaN has the same maximum up to the sign of 0, and exp(x − (±0)) is one",
     .problems = {"shape=6x70,axis=-1,nan", "shape=6x70,axis=-1,some_masked"},
     .on = {in_place_of<softmax::TileKernel<tile::f16, false, NanDroppedByMax>>(softmax_tile_f16)},
     .verdict = "equivalent"},
    {.name = "group_members_backwards",
     .planted = "the query heads of a group are taken in reverse; a row reads and writes its own head alone, and its "
                "bits depend on no other row of the product",
     .problems = {"B=3,H=6,Hk=2,Tq=9,Tk=65,D=80,Dv=24,normal"},
     .on = {in_math<tile::bf16, MembersBackwards>()},
     .verdict = "equivalent"},
    {.name = "features_backwards",
     .planted = "features are taken from the last to the first; the bound holds for every order of the sum in which no "
                "weight passes through more than sum_depth additions, and the tree's depth is the same from either "
                "end; the bits differ from the tile kernel's",
     .red_at = {"gate3.pair", "gate3.twin"},
     .problems = {"shape=4x640,axis=-1,rising", "shape=3x4096,axis=-1,normal"},
     .on = around(features_backwards, softmax_looped_f32),
     .verdict = "within bound"},
};

}  // namespace

std::span<const Mutation> harmless() { return rows; }

}  // namespace nbx::controls
