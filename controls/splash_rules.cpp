// splash attention and its metadata with one rule replaced, or asked for something else.
#include <cmath>

#include "controls/faults.hpp"
#include "controls/splash_parts.hpp"
#include "controls/tables.hpp"

namespace nbx::controls {
namespace {

using splash::Rules;
using splash::Window;

struct WholeWindow : Rules {
  static Window window(std::int64_t keys, float v_max) {
    const Window w = Rules::window(keys, v_max);
    return {w.C, w.W, w.W};
  }
};

/// As a maximum that these inputs do not reach would give it.
struct RealisedMaximum : Rules {
  NBX_FUNCTION static float shift(float bound2, int gate, int C) { return Rules::shift(bound2 / 64.0F, gate, C); }
};

struct RawNorm : Rules {
  NBX_FUNCTION static float centred(float k, float) { return k; }
};

struct PaddedMean : Rules {
  NBX_FUNCTION static float mean(float sum, float keys) {
    return Rules::mean(sum, static_cast<float>((static_cast<int>(keys) + 63) / 64 * 64));
  }
};

struct NormDown : Rules {
  NBX_FUNCTION static float norm2(float sum, std::int64_t) { return sum * (1.0F - 0x1p-18F); }
};

struct KeyNormLeftOut : Rules {
  NBX_FUNCTION static float bound2(float q2, float k2) { return Rules::bound2(q2, 1.0F) + 0.0F * k2; }
};

struct ValuesUnseen : Rules {
  NBX_FUNCTION static bool values_fit(float v_abs, float) { return v_abs == v_abs; }
};

struct ScoresTakenAsExact : Rules {
  NBX_FUNCTION static bool scores_known(float, float, std::int64_t) { return true; }
};

struct Floor : Rules {
  NBX_FUNCTION static float shift(float bound2, int gate, int C) { return Rules::shift(bound2, gate, C) - 1.0F; }
};

struct WindowOfOneKey : Rules {
  static Window window(std::int64_t, float v_max) { return Rules::window(1, v_max); }
};

struct WindowWithoutValues : Rules {
  static Window window(std::int64_t keys, float) { return Rules::window(keys, 1.0F); }
};

struct HalfGate : Rules {
  NBX_FUNCTION static bool below_gate(float bound2, int gate) { return Rules::below_gate(4.0F * bound2, gate); }
};

struct FirstFlags : Rules {
  NBX_FUNCTION static std::int64_t flags_of(std::int64_t) { return 0; }
};

struct AllTakenForEligible : Rules {
  NBX_FUNCTION static float falls_back(float) { return 0.0F; }
};

struct FlagsUnseen : Rules {
  NBX_FUNCTION static bool is_fixed(float) { return true; }
};

struct NextKvHead : Rules {
  NBX_FUNCTION static std::int64_t kv_head(std::int64_t head, std::int64_t group) { return (head / group) ^ 1; }
};

struct LastKeyDropped : Rules {
  static std::int64_t keys(std::int64_t Tk) { return Tk - 1; }
};

struct TailDropped : Rules {
  static std::int64_t keys(std::int64_t Tk) { return Tk / 64 * 64; }
};

struct NoRescale : Rules {
  NBX_FUNCTION static float rescale(float before, float) { return tile::select(before == Max::identity, 0.0F, 1.0F); }
};

struct RescaleTwice : Rules {
  NBX_FUNCTION static float rescale(float before, float after) {
    const float once = Rules::rescale(before, after);
    return once * once;
  }
};

struct BaseE : Rules {
  NBX_FUNCTION static float weight(float distance) { return tile::exp(distance); }
};

template <class Narrow>
struct NarrowWeights : Rules {
  template <class T>
  NBX_FUNCTION static float narrowed(float weight) {
    return tile::narrow<Narrow>(weight);
  }
};

struct MeanLeftOut : Rules {
  NBX_FUNCTION static float row_shift(float shift, float) { return shift; }
};

struct MeanTwice : Rules {
  NBX_FUNCTION static float row_shift(float shift, float q_mean) { return shift + q_mean + q_mean; }
};

struct SumUndivided : Rules {
  NBX_FUNCTION static float quotient(float sum, float) { return sum; }
};

/// [2, H] read as one bound for all blocks of a head.
constexpr Fault old_mk_taken{.before = [](Call& call) {
  Tensor* const mk = call.find("mk");
  if (mk == nullptr || mk->rank() != 2) return;
  mk->shape[2] = call.tensor("q").shape[2] / 8;
  mk->stride[2] = 0;
  mk->view.tensor.ndim = 3;
}};

constexpr Fault mean_shape_taken{.before = [](Call& call) {
  Tensor* const mean = call.find("k_mean");
  if (mean == nullptr || mean->rank() != 3) return;
  mean->shape[1] = call.tensor("k").shape[1];
  mean->shape[2] = call.tensor("k").shape[3];
}};

constexpr Fault words_ignored{.before = [](Call& call) {
  for (const char* name : {"fixed_m", "uniform", "v_max"}) call.remove_param(name);
}};

constexpr Fault ragged_blocks_cut{.before = [](Call& call) {
  const nbx_param* const block = call.param("block_q");
  if (block != nullptr && block->integer > 0 && sizes(call).Tq % block->integer != 0) {
    call.set_param({"block_q", NBX_INT, sizes(call).Tq, 0, nullptr});
  }
}};

using namespace kernels;

constexpr char normal[] = "B=1,H=4,Hk=2,Tq=64,Tk=257,D=64,block_q=16,normal";
constexpr char grouped[] = "B=1,H=8,Hk=2,Tq=16,Tk=100,D=72,Dv=24,block_q=8,normal";
constexpr char adversarial[] = "*,adversarial";
constexpr char below[] = "B=1,H=1,Hk=1,Tq=8,Tk=64,D=16,block_q=8,boundary=-0.01";
constexpr char hot[] = "B=1,H=2,Hk=1,Tq=48,Tk=130,D=64,block_q=16,hot_block";
constexpr char offset[] = "*,offset=+20";
constexpr char far_offset[] = "*,offset=+2000";
constexpr char rising[] = "B=1,H=2,Hk=2,Tq=4,Tk=1000,D=32,block_q=4,rising";
constexpr char scaled[] = "*,scaled=+1.5";
constexpr char small[] = "B=1,H=2,Hk=2,Tq=4,Tk=60,D=32,block_q=4,rising";

constexpr Mutation rows[] = {
    {.name = "whole_window_as_gate",
     .planted = "the gate is W and not half of it: under flush-to-zero 1/17 of the mass vanishes, without it the flag "
                "and the window tell",
     .red_at = {"gate1.reference", "gate1.lost_mass"},
     .problems = {adversarial},
     .on = {in_splash_metadata<WholeWindow>(), in_splash_dispatch<WholeWindow>()}},
    {.name = "shift_from_realised_maximum",
     .planted = "the shift follows a maximum that the scores may pass, and not the bound",
     .red_at = {"gate1.reference", "gate1.lost_mass"},
     .problems = {below},
     .on = {in_splash_metadata<RealisedMaximum>(), in_splash_dispatch<RealisedMaximum>()}},
    {.name = "raw_norm_with_centred_shift",
     .planted = "norms are of the keys and shifts are centred: a bound of 100 where a centred score is near 200",
     .red_at = {"gate1.reference", "gate1.lost_mass"},
     .problems = {"*,uncentred"},
     .on = {in_splash_metadata<RawNorm>(), in_splash_dispatch<RawNorm>()}},
    {.name = "padded_keys_counted",
     .planted = "the mean divides by the keys of whole tiles",
     .red_at = {"gate1.reference"},
     .problems = {offset},
     .on = {in_splash_metadata<PaddedMean>(), in_splash_dispatch<PaddedMean>()}},
    {.name = "norms_rounded_down",
     .planted = "squared norms come out below the exact ones",
     .red_at = {"gate1.reference"},
     .problems = {normal},
     .on = {in_splash_metadata<NormDown>()}},
    {.name = "key_norm_left_out",
     .planted = "the bound is the norm of the queries alone",
     .red_at = {"gate1.reference", "gate1.lost_mass"},
     .problems = {"*,uncentred"},
     .on = {in_splash_metadata<KeyNormLeftOut>()}},
    {.name = "values_unseen",
     .planted = "v_ok is not looked at",
     .red_at = {"gate1.reference"},
     .problems = {"*,large_value"},
     .on = {in_splash_metadata<ValuesUnseen>(), in_splash_dispatch<ValuesUnseen>()}},
    {.name = "scores_taken_as_exact",
     .planted = "a block is eligible whose centred scores are known no better than to one half",
     .red_at = {"gate1.reference"},
     .problems = {far_offset},
     .on = {in_splash_metadata<ScoresTakenAsExact>()}},
    {.name = "shift_from_floor",
     .planted = "the shift is rounded down from the bound",
     .red_at = {"gate1.reference", "gate1.lost_mass"},
     .problems = {below},
     .on = {in_splash_metadata<Floor>()}},
    {.name = "window_of_one_key",
     .planted = "the number of keys does not enter the window",
     .red_at = {"gate1.reference"},
     .problems = {normal},
     .on = {in_splash_metadata<WindowOfOneKey>(), in_splash_dispatch<WindowOfOneKey>()}},
    {.name = "window_without_values",
     .planted = "the largest value does not enter the window",
     .red_at = {"gate1.reference"},
     .problems = {normal},
     .on = {in_splash_metadata<WindowWithoutValues>()}},
    {.name = "half_gate",
     .planted = "blocks fall back from half the gate on",
     .red_at = {"gate1.reference"},
     .problems = {below},
     .on = {in_splash_metadata<HalfGate>()}},
    {.name = "flag_of_another_sample",
     .planted = "every batch entry goes by the flags of the first",
     .red_at = {"gate1.reference"},
     .problems = {"*,bad_sample"},
     .on = {in_splash_hybrid<FirstFlags>()}},
    {.name = "all_taken_for_eligible",
     .planted = "one sample's fall-back does not keep the batch from the uniform way",
     .red_at = {"gate1.reference"},
     .problems = {"*,bad_sample"},
     .on = {in_splash_dispatch<AllTakenForEligible>()}},
    {.name = "flags_unseen",
     .planted = "every block takes the fixed way",
     .red_at = {"gate1.reference"},
     .problems = {hot},
     .on = {in_splash_hybrid<FlagsUnseen>()}},
    {.name = "next_kv_head",
     .planted = "each GQA group reads its neighbour's keys",
     .red_at = {"gate1.reference"},
     .problems = {grouped},
     .on = {in_splash_online<NextKvHead>(), in_splash_uniform<NextKvHead>()}},
    {.name = "last_key_dropped",
     .planted = "the key length is one short",
     .red_at = {"gate1.reference"},
     .problems = {grouped},
     .on = {in_splash_online<LastKeyDropped>(), in_splash_uniform<LastKeyDropped>()}},
    {.name = "tail_tile_dropped",
     .planted = "the ragged tail of the keys is left out",
     .red_at = {"gate1.reference"},
     .problems = {grouped},
     .on = {in_splash_hybrid<TailDropped>()}},
    {.name = "no_rescale",
     .planted = "sums keep the scale of an older maximum",
     .red_at = {"gate1.reference"},
     .problems = {rising},
     .on = {in_splash_online<NoRescale>()}},
    {.name = "rescaled_twice",
     .planted = "sums are rescaled twice when the maximum moves",
     .red_at = {"gate1.reference"},
     .problems = {rising},
     .on = {in_splash_online<RescaleTwice>()}},
    {.name = "base_e",
     .planted = "weights are powers of e where scores are exponents of two",
     .red_at = {"gate1.reference", "gate1.centring"},
     .problems = {grouped, "*,moved=+8"},
     .on = {in_splash_online<BaseE>(), in_splash_uniform<BaseE>()}},
    {.name = "weights_narrowed",
     .planted = "weights are narrowed one format too far: f32 to f16, which ends at 2^16, bf16 to e4m3",
     .red_at = {"gate1.reference"},
     .problems = {grouped},
     .on = {in_splash_hybrid<NarrowWeights<tile::f16>>(), in_splash_uniform<NarrowWeights<tile::e4m3>>()}},
    {.name = "mean_left_out",
     .planted = "norms are centred and the shift is not",
     .red_at = {"gate1.reference"},
     .problems = {offset},
     .on = {in_splash_hybrid<MeanLeftOut>(), in_splash_uniform<MeanLeftOut>()}},
    {.name = "mean_twice",
     .planted = "the shift is centred twice",
     .red_at = {"gate1.reference"},
     .problems = {offset},
     .on = {in_splash_hybrid<MeanTwice>()}},
    {.name = "sum_undivided",
     .planted = "o is not divided by l",
     .red_at = {"gate1.reference"},
     .problems = {scaled},
     .on = {in_splash_online<SumUndivided>()}},
    {.name = "old_mk_taken",
     .planted = "mk [2, H] is read as one bound for all blocks of a head",
     .red_at = {"gate4.metadata"},
     .problems = {small},
     .on = around(old_mk_taken, splash_hybrid_f32, splash_uniform_f32)},
    {.name = "k_mean_cut",
     .planted = "a k_mean of another shape is cut to the keys'",
     .red_at = {"gate4.metadata"},
     .problems = {small},
     .on = around(mean_shape_taken, splash_hybrid_bf16)},
    {.name = "words_ignored",
     .planted = "fixed_m, uniform and v_max are not looked at",
     .red_at = {"gate4.metadata"},
     .problems = {small},
     .on = around(words_ignored, splash_online_f32, splash_metadata_bf16, splash_dispatch_f32)},
    {.name = "ragged_blocks_cut",
     .planted = "a q_len that block_q does not divide is taken as one block",
     .red_at = {"gate4.metadata"},
     .problems = {small},
     .on = around(ragged_blocks_cut, splash_uniform_bf16)},
};

}  // namespace

std::span<const Mutation> splash_rules() { return rows; }

}  // namespace nbx::controls
