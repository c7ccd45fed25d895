// flash composed with one rule of its streaming, its arithmetic or its masks replaced.
#include "controls/flash_parts.hpp"
#include "controls/tables.hpp"

namespace nbx::controls {
namespace {

using flash::Rules;
using tile::bf16;
using tile::f16;

// Streaming.

struct NoRescale : Rules {
  NBX_FUNCTION static float rescale(float, float) { return 1.0F; }
};

struct RescaledTwice : Rules {
  NBX_FUNCTION static float rescale(float old_max, float new_max) {
    const float once = Rules::rescale(old_max, new_max);
    return once * once;
  }
};

struct SumNotRescaled : Rules {
  NBX_FUNCTION static float running_sum(float before, float, float tile) { return before + tile; }
};

struct OutputNotRescaled : Rules {
  template <class R, class Block>
  NBX_DEVICE static void values(Block& block, tile::Tile<float> o, const float*, tile::Tile<float> p,
                                tile::Tile<float> v, int rows, int columns, int keys) {
    tile::dot_add<typename R::Unit>(block, o, p, v, rows, columns, keys);
  }
};

/// The maximum of this tile stands for the running one.
struct MaxOfTileAlone : Rules {
  template <class M>
  NBX_FUNCTION static float running_max(float, float tile) {
    return tile;
  }
};

/// (−inf) − (−inf) where a row has seen nothing yet.
struct EmptyTileNan : Rules {
  NBX_FUNCTION static float rescale(float old_max, float new_max) { return tile::exp(old_max - new_max); }
};

/// A key tile whose maximum is NaN is passed over.
struct NanTileSkipped : Rules {
  template <class M>
  NBX_FUNCTION static float running_max(float before, float tile) {
    return tile::is_nan(tile) ? before : M::combine(before, tile);
  }
  NBX_FUNCTION static float weight(float score, float max) {
    return tile::is_nan(score) ? tile::no_term() : Rules::weight(score, max);
  }
};

struct TailTileDropped : Rules {
  template <class A, class R>
  NBX_FUNCTION static std::int64_t keys(const A& a, std::int64_t i) {
    return R::visible(a, i) / 64 * 64;
  }
};

/// Tiles of half as many keys where there is one query.
struct NarrowOnDecode : Rules {
  static int key_width(const pack::Attention& a) { return Rules::key_width(a) / (a.Tq == 1 ? 2 : 1); }
};

struct PaddedWithOnes : Rules {
  NBX_FUNCTION static float padding() { return 1.0F; }
};

struct ScaleOfPaddedDim : Rules {
  static float scale(const pack::Attention& a, int extra) {
    return a.scale / tile::divide(static_cast<float>(a.D + extra), static_cast<float>(a.D));
  }
};

// Arithmetic.

struct InterleavedHeads : Rules {
  template <class A>
  NBX_FUNCTION static std::int64_t kv_head(const A& a, std::int64_t head) {
    return head % a.Hk;
  }
};

template <class Narrow>
struct NarrowWeights : Rules {
  static constexpr bool narrows = true;
  template <class T>
  NBX_FUNCTION static float narrowed(float weight) {
    return tile::narrow<Narrow>(weight);
  }
};

template <class Narrow>
struct NarrowAccumulator : Rules {
  struct Unit {
    NBX_FUNCTION static float multiply_add(float a, float b, float sum) {
      return tile::narrow<Narrow>(tile::fma(a, b, sum));
    }
  };
};

struct Truncated : Rules {
  template <class T, class A>
  NBX_FUNCTION static T normalised(const A& a, float o, float max, float sum) {
    const T nearest = Rules::normalised<T>(a, o, max, sum);
    const float exact = tile::divide(o, sum);
    const float kept = tile::decode(nearest);
    const bool outward = kept > exact ? exact > 0 : kept < exact && exact < 0;
    return outward ? T{static_cast<typename T::Bits>(nearest.bits - 1U)} : nearest;
  }
};

struct Flushed : Rules {
  template <class T, class A>
  NBX_FUNCTION static T normalised(const A& a, float o, float max, float sum) {
    const float value = tile::decode(Rules::normalised<T>(a, o, max, sum));
    return tile::encode<T>(value < 0x1p-126F && value > -0x1p-126F ? 0.0F : value);
  }
};

struct BaseTwoLse : Rules {
  NBX_FUNCTION static float lse(float max, float sum) { return Rules::lse(max, sum) * 0x1.715476p0F; }
};

struct NoMaxLse : Rules {
  NBX_FUNCTION static float lse(float, float sum) { return tile::log(sum); }
};

// What a row sees.

template <int By>
struct CausalEdge : Rules {
  template <class A>
  NBX_FUNCTION static std::int64_t visible(const A& a, std::int64_t i) {
    if (a.causal == pack::Causal::none) return a.Tk;
    const std::int64_t end = Rules::visible(a, i) + By;
    return end < 0 ? 0 : (end < a.Tk ? end : a.Tk);
  }
};

struct BiasTwice : Rules {
  NBX_FUNCTION static float biased(float score, float bias) { return Rules::biased(score, bias) + bias; }
};

struct EmptyRowNan : Rules {
  template <class T, class A>
  NBX_FUNCTION static T normalised(const A&, float o, float, float sum) {
    return tile::encode<T>(tile::settle(tile::divide(o, sum)));
  }
};

struct NanDroppedByMax : Rules {
  struct Max {
    static constexpr float identity = -__builtin_huge_valf();
    NBX_FUNCTION static float combine(float a, float b) { return a > b ? a : (tile::is_nan(b) ? a : b); }
  };
};

struct AddedMask : Rules {
  NBX_FUNCTION static float biased(float score, float bias) { return score + bias; }
};

struct ZeroTimesValue : Rules {
  NBX_FUNCTION static float weight(float score, float max) {
    return score == Max::identity ? 0.0F : tile::exp(score - max);
  }
};

struct AddedCausality : Rules {
  template <class A, class R>
  NBX_FUNCTION static std::int64_t keys(const A& a, std::int64_t) {
    return a.Tk;
  }
  NBX_FUNCTION static float hidden(float score) { return score + Max::identity; }
};

struct NanScrubbed : Rules {
  template <class T, class A>
  NBX_FUNCTION static T normalised(const A& a, float o, float max, float sum) {
    const T value = Rules::normalised<T>(a, o, max, sum);
    return tile::is_finite(tile::decode(value)) ? value : tile::encode<T>(0.0F);
  }
};

struct FiniteMask : Rules {
  NBX_FUNCTION static float biased(float score, float bias) {
    return score + (bias == Max::identity ? -1000.0F : bias);
  }
};

// The launch.

/// Blocks of fewer than 64 queries are counted as if each held 64.
template <class T, class R>
struct GridOf64 : flash::Program<T, R> {
  std::int64_t blocks() const {
    return this->a.B * this->a.H * tile::ceil_div(this->a.Tq, this->height < 64 ? 64 : this->height);
  }
};

/// One item writes a factor of 1, the others of the same phase read it.
template <class T, class R>
struct NoBarrier : flash::Program<T, R> {
  using flash::Program<T, R>::tile_bytes;
  std::size_t tile_bytes() const { return flash::Program<T, R>::tile_bytes() + tile::tile_bytes<float>(1, 1); }

  template <class Block>
  NBX_DEVICE void operator()(Block& block) const {
    flash::Program<T, R>::operator()(block);
    float* const factor = block.template tile<float>(1, 1).at;
    T* const o = this->a.o + block.index() / this->query_tiles() * this->a.o_at.stride[1];
    block.phase(this->a.Dv + 1, [=](std::int64_t i) {
      if (i == 0) {
        *factor = 1.0F;
      } else {
        o[i - 1] = tile::encode<T>(tile::decode(o[i - 1]) * *factor);
      }
    });
  }
};

constexpr char ordinary[] = "B=1,H=3,Hk=1,Tq=7,Tk=63,D=72,normal";
constexpr char grouped[] = "B=3,H=6,Hk=2,Tq=9,Tk=65,D=80,Dv=24,normal";
constexpr char rising[] = "B=1,H=2,Hk=1,Tq=16,Tk=300,D=64,rising";
constexpr char late[] = "B=1,H=2,Hk=1,Tq=9,Tk=140,D=32,bias=bhqk,mask=late,normal";

constexpr Mutation rows[] = {
    {.name = "rescale_missing",
     .planted = "the sum and O of an older maximum are not rescaled",
     .red_at = {"gate1.reference"},
     .problems = {rising},
     .on = {in_flash<float, NoRescale>(), in_flash<bf16, NoRescale>()}},
    {.name = "rescaled_twice",
     .planted = "the sum and O of an older maximum are rescaled twice",
     .red_at = {"gate1.reference"},
     .problems = {rising},
     .on = {in_flash<f16, RescaledTwice>()}},
    {.name = "sum_not_rescaled",
     .planted = "the sum alone is not rescaled",
     .red_at = {"gate1.reference"},
     .problems = {rising},
     .on = {in_flash<float, SumNotRescaled>()}},
    {.name = "output_not_rescaled",
     .planted = "O alone is not rescaled",
     .red_at = {"gate1.reference"},
     .problems = {rising},
     .on = {in_flash<bf16, OutputNotRescaled>()}},
    {.name = "max_of_tile_alone",
     .planted = "the maximum of the last tile stands for that of the row: a masked last tile empties it",
     .red_at = {"gate1.reference"},
     .problems = {"B=2,H=2,Hk=1,Tq=19,Tk=67,D=32,bias=b1k,mask=padding,normal"},
     .on = {in_flash<float, MaxOfTileAlone>()}},
    {.name = "empty_tile_nan",
     .planted = "where the first tile of a row is masked, its rescale is (-inf) - (-inf)",
     .red_at = {"gate1.reference"},
     .problems = {late},
     .on = {in_flash<float, EmptyTileNan>(), in_flash<f16, EmptyTileNan>()}},
    {.name = "nan_tile_skipped",
     .planted = "a key whose score is NaN is passed over",
     .red_at = {"gate1.reference"},
     .problems = {"*,plant=nan_key_by_tile"},
     .on = {in_flash<f16, NanTileSkipped>()}},
    {.name = "tail_tile_not_run",
     .planted = "keys end at a multiple of 64",
     .red_at = {"gate1.reference"},
     .problems = {grouped},
     .on = {in_flash<f16, TailTileDropped>()}},
    {.name = "narrow_on_decode",
     .planted = "a single query goes through tiles of half as many keys",
     .red_at = {"gate3.rows"},
     .problems = {ordinary},
     .on = {in_flash<float, NarrowOnDecode>()}},
    {.name = "detour_padded_with_ones",
     .planted = "the column that pads the head dim holds ones",
     .red_at = {"gate1.reference", "gate3.pair"},
     .problems = {ordinary},
     .on = {in_flash<float, PaddedWithOnes>()}},
    {.name = "detour_scale_of_padded_dim",
     .planted = "with the head dim padded, so is the scale's",
     .red_at = {"gate1.reference", "gate3.pair"},
     .problems = {ordinary},
     .on = {in_flash<bf16, ScaleOfPaddedDim>()}},
    {.name = "heads_interleaved",
     .planted = "the query heads of a KV head are taken a stride of Hk apart",
     .red_at = {"gate1.reference"},
     .problems = {grouped},
     .on = {in_flash<f16, InterleavedHeads>()}},
    {.name = "weights_narrowed",
     .planted = "the weights are narrowed before P·V: f32 to f16, f16 to bf16, bf16 to e4m3",
     .red_at = {"gate1.reference"},
     .problems = {ordinary},
     .on = {in_flash<float, NarrowWeights<f16>>(), in_flash<f16, NarrowWeights<bf16>>(),
            in_flash<bf16, NarrowWeights<tile::e4m3>>()}},
    {.name = "accumulator_in_f16",
     .planted = "both products are accumulated in f16",
     .red_at = {"gate1.reference"},
     .problems = {ordinary},
     .on = {in_flash<f16, NarrowAccumulator<f16>>()}},
    {.name = "truncated",
     .planted = "outputs are cut towards zero",
     .red_at = {"gate1.reference"},
     .problems = {ordinary},
     .on = {in_flash<f16, Truncated>(), in_flash<bf16, Truncated>()}},
    {.name = "subnormals_flushed",
     .planted = "outputs below the smallest normal number become zero",
     .red_at = {"gate1.reference"},
     .problems = {"B=1,H=2,Hk=1,Tq=16,Tk=200,D=64,tiny"},
     .on = {in_flash<float, Flushed>()}},
    {.name = "lse_in_base_2",
     .planted = "the LSE is in base 2 in place of base e",
     .red_at = {"gate1.reference"},
     .problems = {ordinary},
     .on = {in_flash<bf16, BaseTwoLse>()}},
    {.name = "lse_without_max",
     .planted = "the maximum is left out of the LSE",
     .red_at = {"gate1.reference"},
     .problems = {ordinary},
     .on = {in_flash<float, NoMaxLse>()}},
    {.name = "causal_edge_late",
     .planted = "each row sees one key beyond its causal edge",
     .red_at = {"gate1.reference"},
     .problems = {"B=1,H=2,Hk=1,Tq=17,Tk=130,D=32,causal=top_left,normal"},
     .on = {in_flash<f16, CausalEdge<1>>()}},
    {.name = "causal_edge_early",
     .planted = "each row misses the last key before its causal edge",
     .red_at = {"gate1.reference"},
     .problems = {"B=1,H=2,Hk=1,Tq=33,Tk=17,D=32,causal=bottom_right,normal"},
     .on = {in_flash<float, CausalEdge<-1>>()}},
    {.name = "bias_twice",
     .planted = "the bias is added twice",
     .red_at = {"gate1.reference"},
     .problems = {"B=2,H=2,Hk=1,Tq=19,Tk=67,D=32,bias=qk,normal"},
     .on = {in_flash<bf16, BiasTwice>()}},
    {.name = "empty_row_nan",
     .planted = "a fully masked row is left 0 / 0",
     .red_at = {"gate1.reference"},
     .problems = {"B=2,H=2,Hk=1,Tq=19,Tk=67,D=32,bias=bhqk,mask=rows,normal",
                  "B=1,H=2,Hk=1,Tq=33,Tk=17,D=32,causal=bottom_right,normal"},
     .on = {in_flash<f16, EmptyRowNan>()}},
    {.name = "nan_dropped_by_max",
     .planted = "the maximum passes over NaN, and a row of NaN scores counts as masked",
     .red_at = {"gate1.reference"},
     .problems = {"*Tk=70,D=32,normal,plant=nan_query"},
     .on = {in_flash<bf16, NanDroppedByMax>()}},
    {.name = "mask_added",
     .planted = "a mask is added, so that a NaN key behind it shows",
     .red_at = {"gate1.reference"},
     .problems = {"*,plant=masked_nan_key"},
     .on = {in_flash<f16, AddedMask>()}},
    {.name = "zero_times_masked",
     .planted = "values that a row does not see are multiplied by 0, so that their NaN shows",
     .red_at = {"gate1.reference"},
     .problems = {"*,plant=masked_nan_value", "*,plant=partly_hidden_nan"},
     .on = {in_flash<float, ZeroTimesValue>()}},
    {.name = "causality_added",
     .planted = "causality is added as −inf, so that a NaN key beyond the edge shows",
     .red_at = {"gate1.reference"},
     .problems = {"*,plant=hidden_nan_key"},
     .on = {in_flash<float, AddedCausality>()}},
    {.name = "nan_scrubbed",
     .planted = "every NaN and infinity of the output becomes 0, mask or none",
     .red_at = {"gate1.reference"},
     .problems = {"*Tq=8,Tk=70,D=32,normal,plant=nan_key", "*D=32,normal,plant=inf_value"},
     .on = {in_flash<float, NanScrubbed>()}},
    {.name = "finite_mask",
     .planted = "−1000 stands for −inf, so that large keys behind a mask show",
     .red_at = {"gate3.pad"},
     .problems = {"B=2,H=8,Hk=1,Tq=17,Tk=33,D=16,normal"},
     .on = {in_flash<f16, FiniteMask>()}},
    {.name = "grid_of_another_tile",
     .planted = "the grid of lower tiles is counted for tiles of 64 queries",
     .red_at = {"gate1.reference", "gate3.grid"},
     .problems = {"B=1,H=2,Hk=1,Tq=70,Tk=70,D=64,causal=top_left,normal"},
     .on = {in_flash<bf16, flash::Rules, GridOf64>()}},
    {.name = "barrier_missing",
     .planted = "items of one phase read what another of them writes",
     .red_at = {"gate2.order"},
     .problems = {ordinary},
     .on = {in_flash<f16, flash::Rules, NoBarrier>()}},
};

}  // namespace

std::span<const Mutation> flash_rules() { return rows; }

}  // namespace nbx::controls
