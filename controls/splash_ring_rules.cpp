// The ring of splash attention with one rule replaced, or called wrongly.
#include <cstring>

#include "controls/faults.hpp"
#include "controls/tables.hpp"
#include "kernels/pack/kernels.hpp"
#include "kernels/splash/ring.hpp"

namespace nbx::controls {
namespace {

using splash::RingRules;
using splash::Rules;
using splash::Window;

template <class R>
constexpr Target in_ring() {
  return in_place_of<splash::RingKernel<float, R>>(kernels::splash_ring_f32);
}
template <class R>
constexpr Target in_ring_bf16() {
  return in_place_of<splash::RingKernel<tile::bf16, R>>(kernels::splash_ring_bf16);
}
template <class R>
constexpr Target in_ring_online() {
  return in_place_of<splash::RingOnlineKernel<float, R>>(kernels::splash_ring_online_f32);
}

struct HopDropped : RingRules {
  static int hops(int ranks) { return ranks - 1; }
};

struct HopTwice : RingRules {
  static int hops(int ranks) { return ranks + 1; }
};

struct ShiftMoved : RingRules {
  static int uniform_entry(int shard) { return 1 + shard; }
};

struct FirstFlags : RingRules {
  struct Attention : Rules {
    NBX_FUNCTION static std::int64_t flags_of(std::int64_t) { return 0; }
  };
};

struct FlagNotReduced : RingRules {
  NBX_FUNCTION static bool flag_counts(int from, int own) { return from == own; }
};

struct OneSampleForgotten : RingRules {
  NBX_FUNCTION static float falls_back(float) { return 0.0F; }
};

struct ValuesNotReduced : RingRules {
  NBX_FUNCTION static bool values_count(int from, int own) { return from == own; }
};

struct NormsNotReduced : RingRules {
  NBX_FUNCTION static bool norm_counts(int from, int own) { return from == own; }
};

struct NaturalLse : RingRules {
  NBX_FUNCTION static float lse(float m, float l) { return tile::select(l == 0.0F, Max::identity, m + tile::log(l)); }
};

struct LseWithoutMaximum : RingRules {
  NBX_FUNCTION static float lse(float, float l) { return tile::select(l == 0.0F, Max::identity, tile::log2(l)); }
};

struct EmptyMergedAsNumber : RingRules {
  NBX_FUNCTION static float share(float lse, float largest) { return tile::exp2(lse - largest); }
};

struct Unweighted : RingRules {
  NBX_FUNCTION static float share(float lse, float) { return tile::select(lse == Max::identity, 0.0F, 1.0F); }
};

struct OtherWayRound : RingRules {
  static int shard(int rank, int hop, int ranks) { return (rank + hop) % ranks; }
};

struct SumsReplaced : RingRules {
  NBX_FUNCTION static float added(float, float hop) { return hop; }
};

struct WholeWindow : RingRules {
  static Window window(std::int64_t keys, float v_max) {
    const Window w = Rules::window(keys, v_max);
    return {w.C, w.W, w.W};
  }
};

/// k̄ of this rank's keys in place of that of all.
constexpr Fault mean_of_shard{.before = [](Call& call) {
  Tensor* const mean = call.find("k_mean");
  if (mean == nullptr || !call.has_data()) return;
  const Tensor& k = call.tensor("k");
  const std::int64_t keys = k.shape[2], D = k.shape[3], heads = k.shape[0] * k.shape[1];
  mean->move_to(call.memory(static_cast<std::size_t>(heads * D) * sizeof(float)));
  for (std::int64_t i = 0; i < heads * D; ++i) {
    float sum = 0;
    for (std::int64_t j = 0; j < keys; ++j) sum += k.value((i / D * keys + j) * D + i % D);
    mean->set_value(i, sum / static_cast<float>(keys));
  }
}};

/// What is squared already is squared once more, where it comes gathered.
constexpr Fault squared_twice{.before = [](Call& call) {
  const nbx_param* const gathered = call.param("pregathered");
  if (gathered == nullptr || gathered->integer != 1 || !call.has_data()) return;
  Tensor& norms = call.tensor("k_norm2");
  const std::int64_t count = norms.elements();
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(norms.value(i));
  norms.move_to(call.memory(static_cast<std::size_t>(count) * sizeof(float)));
  for (std::int64_t i = 0; i < count; ++i) {
    const float norm = values[static_cast<std::size_t>(i)];
    norms.set_value(i, norm * norm);
  }
}};

constexpr Fault ring_words_ignored{.before = [](Call& call) {
  for (const char* name : {"ring_size", "permutation", "bidirectional"}) call.remove_param(name);
}};

constexpr Fault norms_taken_as_squared{.before = [](Call& call) {
  call.set_param({"norms", NBX_TEXT, 0, 0, "squared"});
}};

constexpr char two[] = "R=2,B=1,H=4,Hk=2,*,normal";
constexpr char four[] = "R=4,centred,B=2,*,normal";
constexpr char hot_block[] = "R=2,*,hot_block";
constexpr char bad_sample[] = "R=4,*,bad_sample";
constexpr char hot_keys[] = "R=4,*,hot_keys=+30";
constexpr char warm_keys[] = "R=4,*,hot_keys=+3";
constexpr char empty[] = "R=4,empty=0,empty=1,*";
constexpr char large_value[] = "R=4,*,large_value";
constexpr char boundary[] = "R=2,*,boundary=+0.5";
constexpr char aligned[] = "R=2,centred,*,aligned=-0.5";
constexpr char small[] = "R=2,*,rising";

constexpr Mutation rows[] = {
    {.name = "hop_dropped",
     .planted = "the last hop is left out",
     .red_at = {"gate1.reference"},
     .problems = {two, four},
     .on = {in_ring<HopDropped>(), in_ring_bf16<HopDropped>(), in_ring_online<HopDropped>()}},
    {.name = "hop_twice",
     .planted = "a rank's own keys come round and are added once more",
     .red_at = {"gate1.reference"},
     .problems = {two, four},
     .on = {in_ring<HopTwice>(), in_ring_bf16<HopTwice>()}},
    {.name = "shift_moved",
     .planted = "a hop is added though its shift is that of its own shard",
     .red_at = {"gate1.reference"},
     .problems = {warm_keys},
     .on = {in_ring<ShiftMoved>(), in_ring_bf16<ShiftMoved>()}},
    {.name = "flag_of_another_sample",
     .planted = "every batch entry goes by the flags of the first",
     .red_at = {"gate1.reference"},
     .problems = {bad_sample},
     .on = {in_ring<FirstFlags>(), in_ring_bf16<FirstFlags>()}},
    {.name = "sample_forgotten",
     .planted = "one sample's fall-back does not keep the batch from the uniform way",
     .red_at = {"gate1.reference", "gate1.lost_mass"},
     .problems = {bad_sample},
     .on = {in_ring<OneSampleForgotten>()}},
    {.name = "flag_of_this_rank_alone",
     .planted = "a rank goes the uniform way by its own flags: they are not reduced over the ranks",
     .red_at = {"gate1.reference"},
     .problems = {hot_block},
     .on = {in_ring<FlagNotReduced>(), in_ring_bf16<FlagNotReduced>()}},
    {.name = "values_of_this_rank_alone",
     .planted = "v_ok is not reduced over the ranks",
     .red_at = {"gate1.reference"},
     .problems = {large_value},
     .on = {in_ring<ValuesNotReduced>(), in_ring_bf16<ValuesNotReduced>()}},
    {.name = "norms_of_this_rank_alone",
     .planted = "the bound is that of this rank's keys",
     .red_at = {"gate1.reference"},
     .problems = {hot_keys},
     .on = {in_ring<NormsNotReduced>()}},
    {.name = "lse_in_base_e",
     .planted = "hops are merged by m + ln l, where weights are powers of two",
     .red_at = {"gate1.reference"},
     .problems = {two, hot_block},
     .on = {in_ring<NaturalLse>(), in_ring_online<NaturalLse>()}},
    {.name = "lse_without_maximum",
     .planted = "hops are merged by log2 l alone",
     .red_at = {"gate1.reference"},
     .problems = {hot_keys},
     .on = {in_ring<LseWithoutMaximum>(), in_ring_online<LseWithoutMaximum>()}},
    {.name = "empty_hops_merged",
     .planted = "two empty hops are merged as 2^(-inf - (-inf))",
     .red_at = {"gate1.reference"},
     .problems = {empty},
     .on = {in_ring<EmptyMergedAsNumber>(), in_ring_online<EmptyMergedAsNumber>()}},
    {.name = "merge_unweighted",
     .planted = "results of hops are averaged",
     .red_at = {"gate1.reference"},
     .problems = {hot_keys},
     .on = {in_ring<Unweighted>(), in_ring_online<Unweighted>()}},
    {.name = "flags_of_the_shard_opposite",
     .planted = "a hop goes by the flags of the shard that comes from the other side",
     .red_at = {"gate1.reference"},
     .problems = {hot_keys},
     .on = {in_ring<OtherWayRound>()}},
    {.name = "sums_replaced",
     .planted = "a hop replaces what was added before",
     .red_at = {"gate1.reference"},
     .problems = {two},
     .on = {in_ring<SumsReplaced>(), in_ring_bf16<SumsReplaced>()}},
    {.name = "whole_window_as_gate",
     .planted = "the gate is W and not half of it",
     .red_at = {"gate1.reference", "gate1.lost_mass"},
     .problems = {boundary},
     .on = {in_ring<WholeWindow>()}},
    {.name = "mean_of_a_shard",
     .planted = "shifts are centred on the mean of this rank's keys, and norms on that of all",
     .red_at = {"gate1.reference"},
     .problems = {aligned},
     .on = around(mean_of_shard, kernels::splash_ring_f32, kernels::splash_ring_bf16)},
    {.name = "squared_twice",
     .planted = "norms that come gathered are squared once more",
     .red_at = {"gate3.pair"},
     .problems = {two},
     .on = around(squared_twice, kernels::splash_ring_f32, kernels::splash_ring_bf16)},
    {.name = "ring_words_ignored",
     .planted = "ring_size, permutation and bidirectional are not looked at",
     .red_at = {"gate4.ring"},
     .problems = {small},
     .on = around(ring_words_ignored, kernels::splash_ring_f32, kernels::splash_ring_online_bf16)},
    {.name = "norms_taken_as_squared",
     .planted = "norms are taken as squared whatever the call says",
     .red_at = {"gate4.metadata"},
     .problems = {small},
     .on = around(norms_taken_as_squared, kernels::splash_ring_f32)},
};

}  // namespace

std::span<const Mutation> splash_ring_rules() { return rows; }

}  // namespace nbx::controls
