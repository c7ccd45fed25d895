// flash on matrix units with one rule replaced: what hidden values reach, how weights and sums are narrowed, and the
// roundings of the unit itself, which only the other back end's bits can tell.
#include "controls/mutation.hpp"
#include "controls/tables.hpp"
#include "kernels/flash/mma.hpp"
#include "kernels/pack/kernels.hpp"

namespace nbx::controls {
namespace {

using flash::MatrixCommon;
using flash::MatrixRules;
using flash::MmaCommon;
using flash::WholeRules;
using tile::bf16;
using tile::f16;
using tile::Tile;

struct OnF16 {
  using Honest = WholeRules<unit::M16N8K16F16, f16>;
  template <class R>
  using Kernel = MmaCommon<f16, unit::M16N8K16F16, R>;
  static constexpr const nbx_kernel* honest = &kernels::flash_mma_f16;
};
struct OnBF16 {
  using Honest = WholeRules<unit::M16N8K16BF16, bf16>;
  template <class R>
  using Kernel = MmaCommon<bf16, unit::M16N8K16BF16, R>;
  static constexpr const nbx_kernel* honest = &kernels::flash_mma_bf16;
};
struct OnWarpgroups : OnF16 {
  static constexpr const nbx_kernel* honest = &kernels::flash_wgmma_f16;
};
struct OnTF32 {
  using Honest = MatrixRules<unit::M16N8K8TF32, flash::tf32>;
  template <class R>
  using Kernel = MatrixCommon<float, unit::M16N8K8TF32, flash::tf32, R>;
  static constexpr const nbx_kernel* honest = &kernels::flash_mma_tf32;
};

/// `Rule` derives from the honest rules that it is given.
template <class On, template <class> class Rule>
constexpr Target in_matrix() {
  return in_place_of<typename On::template Kernel<Rule<typename On::Honest>>>(*On::honest);
}

/// Values go to the unit as they are, those that a row does not see included.
template <class H>
struct HiddenValuesReach : H {
  template <class Block>
  NBX_DEVICE static void add_non_finite(Block&, Tile<float>, Tile<float>, Tile<float>, int, int, int) {}
};

/// Non-finite values become 0 for every row.
template <class H>
struct NonFiniteDropped : H {
  template <class Block>
  NBX_DEVICE static void add_non_finite(Block& block, Tile<float>, Tile<float>, Tile<float> v, int, int columns,
                                        int keys) {
    block.phase(keys * columns, [=](std::int64_t i) {
      float& value = v(static_cast<int>(i) / columns, static_cast<int>(i) % columns);
      value = tile::is_finite(value) ? value : 0.0F;
    });
  }
};

template <class H>
struct RescaleMissing : H {
  NBX_FUNCTION static float rescale(float, float) { return 1.0F; }
};

template <class H>
struct OutputNotRescaled : H {
  template <class R, class Block>
  NBX_DEVICE static void rescaled(Block&, Tile<float>, const float*, int, int) {}
};

template <class Narrow>
struct WeightsIn {
  template <class H>
  struct Rule : H {
    template <class T>
    NBX_FUNCTION static float narrowed(float weight) {
      return tile::narrow<Narrow>(weight);
    }
  };
};

/// What the unit gives is kept in `Narrow`.
template <class Narrow>
struct SumsIn {
  template <class H>
  struct Rule : H {
    template <class R, class Block>
    NBX_DEVICE static void multiply(Block& block, Tile<float> sum, Tile<float> a, Tile<float> b, int rows, int columns,
                                    int depth) {
      H::template multiply<R>(block, sum, a, b, rows, columns, depth);
      block.phase(rows * columns, [=](std::int64_t i) {
        float& one = sum(static_cast<int>(i) / columns, static_cast<int>(i) % columns);
        one = tile::narrow<Narrow>(one);
      });
    }
  };
};

/// Terms past the last whole instruction are left out.
template <class H>
struct LastGroupDropped : H {
  template <class R, class Block>
  NBX_DEVICE static void multiply(Block& block, Tile<float> sum, Tile<float> a, Tile<float> b, int rows, int columns,
                                  int depth) {
    constexpr int k = R::Unit::k;
    H::template multiply<R>(block, sum, a, b, rows, columns, depth < k ? depth : depth / k * k);
  }
};

template <class H>
struct KeyEdgeLate : H {
  template <class A>
  NBX_FUNCTION static std::int64_t visible(const A& a, std::int64_t i) {
    const std::int64_t honest = H::visible(a, i);
    return honest < a.Tk ? honest + 1 : honest;
  }
};

template <class H>
struct HeadsInterleaved : H {
  template <class A>
  NBX_FUNCTION static std::int64_t kv_head(const A& a, std::int64_t head) {
    return head % a.Hk;
  }
};

template <class H>
struct NanDroppedByMax : H {
  struct Max {
    static constexpr float identity = -__builtin_huge_valf();
    NBX_FUNCTION static float combine(float a, float b) { return a > b ? a : (tile::is_nan(b) ? a : b); }
  };
};

template <class H>
struct EmptyRowNan : H {
  template <class T, class A>
  NBX_FUNCTION static T normalised(const A&, float o, float, float sum) {
    return tile::encode<T>(tile::settle(tile::divide(o, sum)));
  }
};

template <class H>
struct LseWithoutMax : H {
  NBX_FUNCTION static float lse(float, float sum) { return tile::log(sum); }
};

/// Both products by another model of the unit.
template <int Length, int Kept, int Bits = 24>
struct Model {
  template <class H>
  struct Rule : H {
    template <class R, class Block>
    NBX_DEVICE static void multiply(Block&, Tile<float> sum, Tile<float> a, Tile<float> b, int rows, int columns,
                                    int depth) {
      unit::multiply(unit::Matrices{a.at, b.at, sum.at, a.stride, b.stride, sum.stride, rows, columns, depth},
                     unit::Group{Length, Kept, -133, Bits}, typename R::Unit{});
    }
  };
};

/// The unit's last rounding is to nearest in place of toward zero: an element by element model of it.
template <class H>
struct ToNearest : H {
  template <class R, class Block>
  NBX_DEVICE static void multiply(Block&, Tile<float> sum, Tile<float> a, Tile<float> b, int rows, int columns,
                                  int depth) {
    using Unit = typename R::Unit;
    const unit::Group group = Unit::known(unit::imitated()).group;
    for (int r = 0; r < rows; ++r) {
      for (int c = 0; c < columns; ++c) {
        for (int first = 0; first < depth; first += group.length) {
          float x[32] = {}, y[32] = {};
          for (int k = first; k < first + group.length && k < depth; ++k)
            x[k - first] = a(r, k), y[k - first] = b(k, c);
          const float cut = unit::fused_group(group, Unit::format, group.length, x, y, sum(r, c));
          if (tile::is_finite(cut)) {
            const unit::Sum exact = unit::finite_sum(group, Unit::format, group.length, x, y, sum(r, c));
            sum(r, c) = static_cast<float>(std::ldexp(static_cast<double>(exact.total), exact.exponent)) + 0.0F;
          } else {
            sum(r, c) = cut;
          }
        }
      }
    }
  }
};

constexpr char ordinary[] = "B=1,H=3,Hk=1,Tq=7,Tk=63,D=72,normal";
constexpr char grouped[] = "B=3,H=6,Hk=2,Tq=9,Tk=65,D=80,Dv=24,normal";
constexpr char rising[] = "B=1,H=2,Hk=1,Tq=16,Tk=300,D=64,rising";

constexpr Mutation rows[] = {
    {.name = "hidden_values_reach",
     .planted = "the unit multiplies non-finite values by the 0 of rows that do not see them",
     .red_at = {"gate1.reference"},
     .problems = {"*,plant=partly_hidden_nan", "*,plant=masked_nan_value"},
     .on = {in_matrix<OnF16, HiddenValuesReach>(), in_matrix<OnBF16, HiddenValuesReach>(),
            in_matrix<OnTF32, HiddenValuesReach>()}},
    {.name = "non_finite_dropped",
     .planted = "a non-finite value is read as 0 by the rows that see it too",
     .red_at = {"gate1.reference"},
     .problems = {"*D=32,normal,plant=inf_value", "*,plant=nan_value"},
     .on = {in_matrix<OnF16, NonFiniteDropped>(), in_matrix<OnBF16, NonFiniteDropped>()}},
    {.name = "rescale_missing",
     .planted = "the sum and O of an older maximum are not rescaled",
     .red_at = {"gate1.reference"},
     .problems = {rising},
     .on = {in_matrix<OnF16, RescaleMissing>(), in_matrix<OnTF32, RescaleMissing>()}},
    {.name = "output_not_rescaled",
     .planted = "O alone is not rescaled",
     .red_at = {"gate1.reference"},
     .problems = {rising},
     .on = {in_matrix<OnBF16, OutputNotRescaled>()}},
    {.name = "weights_one_format_too_far",
     .planted = "the weights are narrowed one format further: f16 to bf16, bf16 to e4m3",
     .red_at = {"gate1.reference"},
     .problems = {ordinary},
     .on = {in_matrix<OnF16, WeightsIn<bf16>::Rule>(), in_matrix<OnBF16, WeightsIn<tile::e4m3>::Rule>()}},
    {.name = "sums_narrowed",
     .planted = "what each product of the unit gives is kept in the format of its operands",
     .red_at = {"gate1.reference"},
     .problems = {ordinary},
     .on = {in_matrix<OnF16, SumsIn<f16>::Rule>(), in_matrix<OnBF16, SumsIn<bf16>::Rule>()}},
    {.name = "last_group_dropped",
     .planted = "terms past the last whole instruction are left out",
     .red_at = {"gate1.reference"},
     .problems = {ordinary, grouped},
     .on = {in_matrix<OnF16, LastGroupDropped>(), in_matrix<OnBF16, LastGroupDropped>()}},
    {.name = "causal_edge_late",
     .planted = "each row sees one key beyond its causal edge",
     .red_at = {"gate1.reference"},
     .problems = {"B=1,H=2,Hk=1,Tq=17,Tk=130,D=32,causal=top_left,normal"},
     .on = {in_matrix<OnBF16, KeyEdgeLate>()}},
    {.name = "heads_interleaved",
     .planted = "the query heads of a KV head are taken a stride of Hk apart",
     .red_at = {"gate1.reference"},
     .problems = {grouped},
     .on = {in_matrix<OnBF16, HeadsInterleaved>()}},
    {.name = "nan_dropped_by_max",
     .planted = "the maximum passes over NaN, and a row of NaN scores counts as masked",
     .red_at = {"gate1.reference"},
     .problems = {"*Tk=70,D=32,normal,plant=nan_query"},
     .on = {in_matrix<OnF16, NanDroppedByMax>()}},
    {.name = "empty_row_nan",
     .planted = "a fully masked row is left 0 / 0",
     .red_at = {"gate1.reference"},
     .problems = {"B=2,H=2,Hk=1,Tq=19,Tk=67,D=32,bias=bhqk,mask=rows,normal"},
     .on = {in_matrix<OnBF16, EmptyRowNan>()}},
    {.name = "lse_without_max",
     .planted = "the maximum is left out of the LSE",
     .red_at = {"gate1.reference"},
     .problems = {ordinary},
     .on = {in_matrix<OnTF32, LseWithoutMax>()}},
    {.name = "unit_of_24_places",
     .planted = "the model of the unit keeps 24 places below the largest exponent in place of 25",
     .red_at = {"gate3.twin"},
     .problems = {ordinary, "B=1,H=2,Hk=1,Tq=16,Tk=200,D=64,wide"},  // bf16 needs far exponents to lose a place
     .on = {in_matrix<OnF16, Model<16, 24>::Rule>(), in_matrix<OnBF16, Model<16, 24>::Rule>()}},
    {.name = "unit_in_groups_of_8",
     .planted = "the model of the unit adds 8 products at a time in place of 16",
     .red_at = {"gate3.twin"},
     .problems = {ordinary},
     .on = {in_matrix<OnF16, Model<8, 25>::Rule>()}},
    {.name = "warpgroup_in_groups_of_8",
     .planted = "warpgroups add 8 products at a time, where flash.mma adds 16",
     .red_at = {"gate3.pair"},
     .problems = {ordinary, grouped},
     .on = {in_matrix<OnWarpgroups, Model<8, 25>::Rule>()}},
    {.name = "unit_to_nearest",
     .planted = "the model of the unit rounds its sum to nearest in place of toward zero",
     .red_at = {"gate3.twin"},
     .problems = {ordinary, grouped},  // a last place of scores shows in LSE alone, in some of many rows
     .on = {in_matrix<OnBF16, ToNearest>()}},
};

}  // namespace

std::span<const Mutation> matrix_rules() { return rows; }

}  // namespace nbx::controls
