// flash on fp32 operands in two parts with one rule replaced: parts, their scales, and what sets these.
#include "controls/mutation.hpp"
#include "controls/tables.hpp"
#include "kernels/flash/split.hpp"
#include "kernels/pack/kernels.hpp"

namespace nbx::controls {
namespace {

using flash::SplitCommon;
using flash::SplitRules;

template <class R>
constexpr Target in_rules() {
  return in_place_of<SplitCommon<R>>(kernels::flash_m8n8k4_split_f32);
}
/// `S` derives from the honest split.
template <class S>
constexpr Target in_split() {
  return in_rules<SplitRules<S>>();
}

struct NoCross : unit::Split {
  NBX_FUNCTION static float together(float main, float /*cross*/) { return main; }
};

struct LowTwice : unit::Split {
  NBX_FUNCTION static float together(float main, float cross) { return main + cross * 0x1p-10F; }
};

struct FirstSets : unit::Split {
  NBX_FUNCTION static float larger(float so_far, float x, int at) {
    return at == 0 ? unit::Split::larger(so_far, x, at) : so_far;
  }
};

struct LastSets : unit::Split {
  NBX_FUNCTION static float larger(float, float x, int at) { return unit::Split::larger(0.0F, x, at); }
};

/// 2^128 is infinite.
struct ZerosInfinite : unit::Split {
  NBX_FUNCTION static int exponent(float largest) { return largest == 0.0F ? 128 : unit::Split::exponent(largest); }
};

/// 127 + 141 leaves the exponent's bits.
struct NotClamped : unit::Split {
  NBX_FUNCTION static int exponent(float largest) {
    return largest == 0.0F ? 0 : 14 + 127 - static_cast<int>(tile::bits_of(largest) >> 23);
  }
};

struct TwoPlacesTooHigh : unit::Split {
  NBX_FUNCTION static int exponent(float largest) {
    const int scale = unit::Split::exponent(largest) + 2;
    return largest == 0.0F ? 0 : (scale > 126 ? 126 : scale);
  }
};

struct GroupsOf64 : unit::Split {
  static constexpr int group = 64;
};

struct HiddenSet : SplitRules<> {
  static constexpr tile::Terms terms = tile::Terms::all;
};

struct RowsAlike : SplitRules<> {
  template <class R, class Block>
  NBX_DEVICE static void accumulate(Block& block, tile::Tile<float> o, tile::Tile<float> p, tile::Tile<float> v,
                                    int rows, int columns, int keys) {
    tile::split_dot_add<Split, terms>(block, o, p, v, rows, columns, keys);
  }
};

struct NonFiniteDropped : SplitRules<> {
  template <class Block>
  NBX_DEVICE static void add_non_finite_terms(Block&, tile::Tile<float>, tile::Tile<float>, tile::Tile<float>, int, int,
                                              int) {}
};

struct HiddenValuesReach : SplitRules<> {
  template <class Block>
  NBX_DEVICE static void add_non_finite(Block& block, tile::Tile<float> o, tile::Tile<float> p, tile::Tile<float> v,
                                        int rows, int columns, int keys) {
    block.phase_rows(
        rows, columns, [](std::int64_t r) { return static_cast<int>(r); },
        [=](int r, std::int64_t, std::int64_t column) {
          const int c = static_cast<int>(column);
          for (int k = 0; k < keys; ++k) {
            if (!tile::is_finite(v(k, c))) o(r, c) = o(r, c) + p(r, k) * v(k, c);
          }
        });
  }
};

struct RescaleMissing : SplitRules<> {
  NBX_FUNCTION static float rescale(float, float) { return 1.0F; }
};

constexpr char ordinary[] = "B=1,H=3,Hk=1,Tq=7,Tk=63,D=72,normal";
constexpr char decades[] = "B=1,H=2,Hk=1,Tq=16,Tk=130,D=32,decades";

constexpr Mutation rows[] = {
    {.name = "cross_left_out",
     .planted = "hi·lo and lo·hi are left out",
     .red_at = {"gate1.reference"},
     .problems = {ordinary},
     .on = {in_split<NoCross>()}},
    {.name = "low_by_2_10",
     .planted = "the low parts count 2^-10 in place of 2^-11",
     .red_at = {"gate1.reference"},
     .problems = {ordinary},
     .on = {in_split<LowTwice>()}},
    {.name = "scale_of_first",
     .planted = "the scale of a line is taken from its first element",
     .red_at = {"gate1.reference"},
     .problems = {ordinary},
     .on = {in_split<FirstSets>()}},
    {.name = "scale_of_last",
     .planted = "the scale of a line is taken from its last element",
     .red_at = {"gate1.reference"},
     .problems = {ordinary},
     .on = {in_split<LastSets>()}},
    {.name = "scale_too_high",
     .planted = "the largest element of a line comes to [2^16, 2^17), where f16 saturates",
     .red_at = {"gate1.reference"},
     .problems = {ordinary},
     .on = {in_split<TwoPlacesTooHigh>()}},
    {.name = "zeros_infinite",
     .planted = "the scale of a line of zeros is infinite",
     .red_at = {"gate1.reference"},
     .problems = {decades},
     .on = {in_split<ZerosInfinite>()}},
    {.name = "scale_not_clamped",
     .planted = "scales past 2^126 are not clamped, and leave the exponent's bits",
     .red_at = {"gate1.reference"},
     .problems = {"B=1,H=2,Hk=1,Tq=16,Tk=200,D=64,tiny"},
     .on = {in_split<NotClamped>()}},
    {.name = "groups_of_64",
     .planted = "the unit sums 64 terms before each fp32 addition in place of 32",
     .red_at = {"gate3.twin"},
     .problems = {ordinary},
     .on = {in_split<GroupsOf64>()}},
    {.name = "hidden_sets_scale",
     .planted = "values that a row does not see set the scale of its columns",
     .red_at = {"gate1.reference"},
     .problems = {"*,plant=masked_large", "*,plant=partly_hidden_large"},
     .on = {in_rules<HiddenSet>()}},
    {.name = "rows_alike",
     .planted = "the first row of a tile of queries decides which values set the scales of all its rows",
     .red_at = {"gate1.reference"},
     .problems = {"B=1,H=2,Hk=1,Tq=33,Tk=33,D=32,causal=bottom_right,normal"},
     .on = {in_rules<RowsAlike>()}},
    {.name = "non_finite_dropped",
     .planted = "non-finite elements of queries and keys are read as 0",
     .red_at = {"gate1.reference"},
     .problems = {"*Tk=70,D=32,normal,plant=nan_query", "*Tk=70,D=32,normal,plant=inf_key"},
     .on = {in_rules<NonFiniteDropped>()}},
    {.name = "hidden_values_reach",
     .planted = "non-finite values are multiplied by the 0 of rows that do not see them",
     .red_at = {"gate1.reference"},
     .problems = {"*,plant=partly_hidden_nan", "*,plant=masked_nan_value"},
     .on = {in_rules<HiddenValuesReach>()}},
    {.name = "rescale_missing",
     .planted = "the sum and O of an older maximum are not rescaled",
     .red_at = {"gate1.reference"},
     .problems = {"B=1,H=2,Hk=1,Tq=16,Tk=300,D=64,rising"},
     .on = {in_rules<RescaleMissing>()}},
};

}  // namespace

std::span<const Mutation> split_rules() { return rows; }

}  // namespace nbx::controls
