// Softmax and log-softmax composed with one rule replaced.
#include "controls/tables.hpp"
#include "kernels/pack/kernels.hpp"
#include "kernels/softmax/looped.hpp"
#include "kernels/softmax/tile.hpp"

namespace nbx::controls {
namespace {

using softmax::Rules;

struct MissingRescale : Rules {
  NBX_FUNCTION static float rescale(float, float) { return 1.0F; }
};

struct DoubledRescale : Rules {
  NBX_FUNCTION static float rescale(float old_max, float new_max) {
    return Rules::rescale(old_max, new_max) * Rules::rescale(old_max, new_max);
  }
};

/// exp((−inf) − (−inf)) where the first tiles hold −inf alone.
struct EmptyRescale : Rules {
  NBX_FUNCTION static float rescale(float old_max, float new_max) { return tile::exp(old_max - new_max); }
};

struct FirstMax : Rules {
  template <class Max>
  NBX_FUNCTION static float running_max(float before, float tile) {
    return before == Max::identity ? tile : before;
  }
};

struct LastMax : Rules {
  template <class Max>
  NBX_FUNCTION static float running_max(float, float tile) {
    return tile;
  }
};

struct BaseTwo : Rules {
  NBX_FUNCTION static float weight(float x, float max) { return tile::exp2(x - max); }
};

struct BaseTwoLog : Rules {
  NBX_FUNCTION static float log_softmax(float x, float max, float log_sum) {
    return (x - max) - log_sum * 0x1.715476p0F;  // log2 of the sum
  }
};

struct NoMax : Rules {
  NBX_FUNCTION static float log_softmax(float x, float, float log_sum) { return x - log_sum; }
};

struct SumDropsNan : Rules {
  struct Sum {
    static constexpr float identity = 0.0F;
    NBX_FUNCTION static float combine(float a, float b) {
      const float kept = tile::select(tile::is_nan(b), 0.0F, b);
      return tile::select(tile::is_nan(a), 0.0F, a) + kept;
    }
  };
  struct Max {
    static constexpr float identity = -__builtin_huge_valf();
    NBX_FUNCTION static float combine(float a, float b) { return a > b ? a : (tile::is_nan(b) ? a : b); }
  };
};

/// Added up in bf16.
struct NarrowSum : Rules {
  struct Sum {
    static constexpr float identity = 0.0F;
    NBX_FUNCTION static float combine(float a, float b) { return tile::narrow<tile::bf16>(a + b); }
  };
};

struct NarrowWeight : Rules {
  NBX_FUNCTION static float softmax(float weight, float sum) {
    return tile::divide(tile::narrow<tile::f16>(weight), sum);
  }
};

/// Towards zero in place of to nearest.
struct Truncated : Rules {
  template <class T>
  NBX_FUNCTION static T narrow(float value) {
    const T nearest = tile::encode<T>(value);
    const float kept = tile::decode(nearest);
    const bool outward = kept > value ? value > 0 : kept < value && value < 0;
    return outward ? T{static_cast<typename T::Bits>(nearest.bits - 1U)} : nearest;
  }
};

struct Flushed : Rules {
  template <class T>
  NBX_FUNCTION static T narrow(float value) {
    const float smallest_normal = tile::float_of(static_cast<std::uint32_t>(128 - tile::FormatTraits<T>::bias) << 23);
    return tile::encode<T>(value < smallest_normal ? 0.0F : value);
  }
};

constexpr char any[] = "";
template <class T, class R>
using Tile = softmax::TileKernel<T, false, R>;
template <class T, class R>
using LogTile = softmax::TileKernel<T, true, R>;
template <class T, class R>
using Looped = softmax::LoopedKernel<T, false, any, R>;
template <class T, class R>
using LogLooped = softmax::LoopedKernel<T, true, any, R>;

using tile::bf16;
using tile::f16;
using namespace kernels;

constexpr Mutation rows[] = {
    {.name = "missing_rescale",
     .planted = "the sum of the earlier tiles is not rescaled when the maximum moves",
     .red_at = {"gate1.reference"},
     .problems = {"shape=4x12289,axis=-1,rising"},
     .on = {in_place_of<Looped<float, MissingRescale>>(softmax_looped_f32),
            in_place_of<LogLooped<f16, MissingRescale>>(log_softmax_looped_f16)}},
    {.name = "doubled_rescale",
     .planted = "the sum of the earlier tiles is rescaled twice",
     .red_at = {"gate1.reference"},
     .problems = {"shape=4x12289,axis=-1,rising"},
     .on = {in_place_of<Looped<bf16, DoubledRescale>>(softmax_looped_bf16)}},
    {.name = "rescale_from_nothing",
     .planted = "the sum over tiles of −inf alone is rescaled by exp((−inf) − (−inf))",
     .red_at = {"gate1.reference"},
     .problems = {"shape=4x8300,axis=-1,late"},
     .on = {in_place_of<Looped<f16, EmptyRescale>>(softmax_looped_f16)}},
    {.name = "max_of_the_last_tile",
     .planted = "the maximum is the last tile's in place of the row's",
     .red_at = {"gate1.reference"},
     .problems = {"shape=4x8300,axis=-1,early"},
     .on = {in_place_of<Looped<float, LastMax>>(softmax_looped_f32),
            in_place_of<LogLooped<bf16, LastMax>>(log_softmax_looped_bf16)}},
    {.name = "stale_max",
     .planted = "the maximum stays that of the first tile",
     .red_at = {"gate1.reference"},
     .problems = {"shape=3x8400,axis=-1,steep"},
     .on = {in_place_of<Looped<bf16, FirstMax>>(softmax_looped_bf16)}},
    {.name = "exp2_for_exp",
     .planted = "weights are powers of two of scores that were not multiplied by log2 e",
     .red_at = {"gate1.reference"},
     .problems = {"shape=5x130,axis=-1,uniform"},
     .on = {in_place_of<Tile<bf16, BaseTwo>>(softmax_tile_bf16)}},
    {.name = "log2_for_log",
     .planted = "the logarithm of the sum is in base 2",
     .red_at = {"gate1.reference"},
     .problems = {"shape=64x63,axis=-1,normal"},
     .on = {in_place_of<LogTile<bf16, BaseTwoLog>>(log_softmax_tile_bf16),
            in_place_of<LogLooped<float, BaseTwoLog>>(log_softmax_looped_f32)}},
    {.name = "log_without_max",
     .planted = "the maximum is left out of the logarithm",
     .red_at = {"gate1.reference"},
     .problems = {"shape=64x63,axis=-1,normal"},
     .on = {in_place_of<LogTile<f16, NoMax>>(log_softmax_tile_f16)}},
    {.name = "nan_dropped",
     .planted = "the maximum and the sum pass over NaN",
     .red_at = {"gate1.reference"},
     .problems = {"shape=6x70,axis=-1,nan", "shape=6x8200,axis=-1,nan"},
     .on = {in_place_of<Tile<float, SumDropsNan>>(softmax_tile_f32),
            in_place_of<LogLooped<bf16, SumDropsNan>>(log_softmax_looped_bf16)}},
    {.name = "sum_in_bf16",
     .planted = "the row sum is kept in bf16",
     .red_at = {"gate1.reference"},
     .problems = {"shape=33x65,axis=-1,normal"},
     .on = {in_place_of<Tile<float, NarrowSum>>(softmax_tile_f32),
            in_place_of<LogTile<f16, NarrowSum>>(log_softmax_tile_f16)}},
    {.name = "weights_in_f16",
     .planted = "weights are narrowed to f16 before the division",
     .red_at = {"gate1.reference"},
     .problems = {"shape=33x65,axis=-1,normal"},
     .on = {in_place_of<Looped<float, NarrowWeight>>(softmax_looped_f32)}},
    {.name = "truncated",
     .planted = "results are cut towards zero in place of rounded to nearest",
     .red_at = {"gate1.reference"},
     .problems = {"shape=64x63,axis=-1,normal"},
     .on = {in_place_of<Tile<bf16, Truncated>>(softmax_tile_bf16),
            in_place_of<LogTile<f16, Truncated>>(log_softmax_tile_f16)}},
    {.name = "subnormals_flushed",
     .planted = "results below the smallest normal number become zero",
     .red_at = {"gate1.reference"},
     .problems = {"shape=4x640,axis=-1,rising"},
     .on = {in_place_of<Tile<f16, Flushed>>(softmax_tile_f16)}},
};

}  // namespace

std::span<const Mutation> softmax_rules() { return rows; }

}  // namespace nbx::controls
