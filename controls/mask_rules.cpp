// math and chunked composed with one rule of what a row sees replaced: causality, masks, NaN.
#include "controls/math_parts.hpp"
#include "controls/tables.hpp"

namespace nbx::controls {
namespace {

using math::Rules;
using tile::bf16;
using tile::f16;

template <int By>
struct CausalEdge : Rules {
  template <class A>
  NBX_FUNCTION static std::int64_t visible(const A& a, std::int64_t i) {
    if (a.causal == pack::Causal::none) return a.Tk;
    const std::int64_t end = Rules::visible(a, i) + By;
    return end < 0 ? 0 : (end < a.Tk ? end : a.Tk);
  }
};

/// A row without a visible key is 0 / 0.
struct EmptyRowNan : Rules {
  NBX_FUNCTION static bool is_empty(float) { return false; }
};

/// A row without a visible key is the mean of V.
struct EmptyRowMean : Rules {
  NBX_FUNCTION static bool is_empty(float) { return false; }
  NBX_FUNCTION static float weight(float score, float max) {
    return max == Max::identity ? 1.0F : Rules::weight(score, max);
  }
};

struct NanDroppedByMax : Rules {
  struct Max {
    static constexpr float identity = -__builtin_huge_valf();
    NBX_FUNCTION static float combine(float a, float b) { return a > b ? a : (tile::is_nan(b) ? a : b); }
  };
};

/// −inf is added, and so leaves a NaN score as it is.
struct AddedMask : Rules {
  NBX_FUNCTION static float biased(float score, float bias) { return score + bias; }
};

/// A masked key's weight is 0, and its value is multiplied by it.
struct ZeroTimesValue : Rules {
  NBX_FUNCTION static float weight(float score, float max) {
    return score == Max::identity ? 0.0F : tile::exp(score - max);
  }
};

/// Keys beyond the causal edge are masked, and their values multiplied by 0.
struct ZeroTimesHidden : ZeroTimesValue {
  template <class A, class R>
  NBX_FUNCTION static std::int64_t keys(const A& a, std::int64_t) {
    return a.Tk;
  }
  NBX_FUNCTION static float hidden(float) { return Max::identity; }
};

/// Keys beyond the causal edge are masked by adding −inf.
struct AddedCausality : Rules {
  template <class A, class R>
  NBX_FUNCTION static std::int64_t keys(const A& a, std::int64_t) {
    return a.Tk;
  }
  NBX_FUNCTION static float hidden(float score) { return score + Max::identity; }
};

struct NanScrubbed : Rules {
  template <class T>
  NBX_FUNCTION static T output(float sum) {
    return Rules::output<T>(tile::select(tile::is_finite(sum), sum, 0.0F));
  }
};

/// −1000 stands for −inf.
struct FiniteMask : Rules {
  NBX_FUNCTION static float biased(float score, float bias) {
    return score + (bias == Max::identity ? -1000.0F : bias);
  }
};

constexpr Mutation rows[] = {
    {.name = "causal_edge_late",
     .planted = "each row sees one key beyond its causal edge",
     .red_at = {"gate1.reference"},
     .problems = {"B=1,H=2,Hk=1,Tq=17,Tk=130,D=32,causal=top_left,normal",
                  "B=1,H=2,Hk=1,Tq=17,Tk=130,D=32,causal=bottom_right,normal"},
     .on = {in_math<float, CausalEdge<1>>()}},
    {.name = "causal_edge_early",
     .planted = "each row misses the last key before its causal edge",
     .red_at = {"gate1.reference"},
     .problems = {"B=1,H=2,Hk=1,Tq=33,Tk=17,D=32,causal=bottom_right,normal"},
     .on = {in_chunked<f16, CausalEdge<-1>>()}},
    {.name = "empty_row_nan",
     .planted = "a fully masked row is left NaN",
     .red_at = {"gate1.reference"},
     .problems = {"B=2,H=2,Hk=1,Tq=19,Tk=67,D=32,bias=bhqk,mask=rows,normal",
                  "B=1,H=2,Hk=1,Tq=33,Tk=17,D=32,causal=bottom_right,normal"},
     .on = {in_math<float, EmptyRowNan>(), in_chunked<bf16, EmptyRowNan>()}},
    {.name = "empty_row_mean",
     .planted = "a fully masked row is the mean of V",
     .red_at = {"gate1.reference"},
     .problems = {"B=2,H=2,Hk=1,Tq=19,Tk=67,D=32,bias=bhqk,mask=rows,normal"},
     .on = {in_math<f16, EmptyRowMean>()}},
    {.name = "nan_dropped_by_max",
     .planted = "the maximum passes over NaN, and a row of NaN scores counts as masked",
     .red_at = {"gate1.reference"},
     .problems = {"*,plant=nan_query"},
     .on = {in_math<f16, NanDroppedByMax>()}},
    {.name = "mask_added",
     .planted = "a mask is added, so that a NaN key behind it shows",
     .red_at = {"gate1.reference"},
     .problems = {"*,plant=masked_nan_key"},
     .on = {in_math<float, AddedMask>()}},
    {.name = "zero_times_masked",
     .planted = "the value at a masked key is multiplied by 0, so that its NaN shows",
     .red_at = {"gate1.reference"},
     .problems = {"*,plant=masked_nan_value"},
     .on = {in_math<bf16, ZeroTimesValue>()}},
    {.name = "zero_times_hidden",
     .planted = "values beyond the causal edge are multiplied by 0, so that their NaN shows",
     .red_at = {"gate1.reference"},
     .problems = {"*,plant=hidden_nan_value", "*,plant=partly_hidden_nan"},
     .on = {in_math<float, ZeroTimesHidden>(), in_chunked<f16, ZeroTimesHidden>()}},
    {.name = "causality_added",
     .planted = "causality is added as −inf, so that a NaN key beyond the edge shows",
     .red_at = {"gate1.reference"},
     .problems = {"*,plant=hidden_nan_key"},
     .on = {in_math<bf16, AddedCausality>()}},
    {.name = "nan_scrubbed",
     .planted = "every NaN and infinity of the output becomes 0",
     .red_at = {"gate1.reference"},
     .problems = {"*Tq=8,*,plant=nan_key", "*,plant=inf_value"},
     .on = {in_math<float, NanScrubbed>(), in_chunked<float, NanScrubbed>()}},
    {.name = "finite_mask",
     .planted = "−1000 stands for −inf, so that large keys behind a mask show",
     .red_at = {"gate3.pad"},
     .problems = {"B=2,H=8,Hk=1,Tq=17,Tk=33,D=16,normal"},
     .on = {in_math<float, FiniteMask>(), in_chunked<bf16, FiniteMask>()}},
};

}  // namespace

std::span<const Mutation> mask_rules() { return rows; }

}  // namespace nbx::controls
