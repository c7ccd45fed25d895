// decode, wrong on purpose: its parts with one rule replaced, and the honest kernels asked for something else.
#include <algorithm>

#include "controls/faults.hpp"
#include "controls/tables.hpp"
#include "kernels/decode/variants.hpp"
#include "kernels/pack/kernels.hpp"

namespace nbx::controls {
namespace {

using decode::Rules;
using tile::bf16;
using tile::f16;

constexpr char no_name[] = "";

struct KeyShort : Rules {
  NBX_FUNCTION static std::int64_t keys(std::int64_t visible, std::int64_t first, std::int64_t width) {
    return Rules::keys(visible - 1, first, width);
  }
};

struct NoLastSplit : Rules {
  NBX_FUNCTION static std::int64_t keys(std::int64_t visible, std::int64_t first, std::int64_t width) {
    return first > 0 && first + width >= visible ? 0 : Rules::keys(visible, first, width);
  }
};

/// Segments behind the first end a key early.
struct ShortSplit : Rules {
  NBX_FUNCTION static std::int64_t keys(std::int64_t visible, std::int64_t first, std::int64_t width) {
    const std::int64_t honest = Rules::keys(visible, first, width);
    return first > 0 && honest > 0 ? honest - 1 : honest;
  }
};

/// An empty split is weighed as exp(−inf − max) = 0, and what its sums hold is multiplied by it.
struct EmptySplitWeighed : Rules {
  NBX_FUNCTION static float share(float split_max, float, float max) { return tile::exp(split_max - max); }
};

struct NoRescale : Rules {
  NBX_FUNCTION static float share(float split_max, float, float) {
    return tile::select(split_max == Max::identity, tile::no_term(), 1.0F);
  }
};

struct RescaleTwice : Rules {
  NBX_FUNCTION static float share(float split_max, float l, float max) {
    const float once = Rules::share(split_max, l, max);
    return tile::select(tile::is_term(once), once * once, once);
  }
};

struct NanSkipped : Rules {
  struct Max {
    static constexpr float identity = Rules::Max::identity;
    NBX_FUNCTION static float combine(float a, float b) { return a > b ? a : (tile::is_nan(b) ? a : b); }
  };
  NBX_FUNCTION static float share(float split_max, float split_sum, float max) {
    return tile::select(split_sum > 0.0F, tile::exp(split_max - max), tile::no_term());
  }
};

struct BaseTwoLse : Rules {
  NBX_FUNCTION static float lse(float max, float sum) { return Rules::lse(max, sum) * 0x1.715476p0F; }
};

struct NoMaxLse : Rules {
  NBX_FUNCTION static float lse(float, float sum) { return tile::log(sum); }
};

struct EmptyRowNan : Rules {
  NBX_FUNCTION static bool is_empty(float) { return false; }
};

template <class Narrow>
struct NarrowWeights : Rules {
  NBX_FUNCTION static float weight(float score, float max) {
    const float honest = Rules::weight(score, max);
    return tile::select(tile::is_term(honest), tile::narrow<Narrow>(honest), honest);
  }
};

struct ScaledTwice : Rules {
  NBX_FUNCTION static float score(float dot, float scale) { return dot * scale * scale; }
};

struct ZeroTimesValue : Rules {
  NBX_FUNCTION static float weight(float score, float max) {
    return score == Max::identity ? 0.0F : tile::exp(score - max);
  }
};

struct AddedMask : Rules {
  NBX_FUNCTION static float biased(float score, float bias) { return score + bias; }
};

struct QueryUnrounded : Rules {
  template <class Cache>
  NBX_FUNCTION static float query(float x) {
    return x;
  }
};

template <class T>
inline constexpr const nbx_kernel* honest_split = nullptr;
template <>
inline constexpr const nbx_kernel* honest_split<float> = &kernels::decode_split_f32;
template <>
inline constexpr const nbx_kernel* honest_split<f16> = &kernels::decode_split_f16;
template <>
inline constexpr const nbx_kernel* honest_split<bf16> = &kernels::decode_split_bf16;
template <class T>
inline constexpr const nbx_kernel* honest_vec = nullptr;
template <>
inline constexpr const nbx_kernel* honest_vec<float> = &kernels::decode_vec_f32;
template <>
inline constexpr const nbx_kernel* honest_vec<bf16> = &kernels::decode_vec_bf16;

template <class T, class R>
constexpr Target in_split() {
  return in_place_of<decode::SplitKernel<T, no_name, R>>(*honest_split<T>);
}
template <class T, class R>
constexpr Target in_vec() {
  return in_place_of<decode::VecKernel<T, no_name, R>>(*honest_vec<T>);
}
/// Splits that follow from the longest sequence.
constexpr Target split_by_longest() {
  return in_place_of<decode::Kernel<float, Rules, decode::PublishedSplits, 0>>(kernels::decode_split_f32);
}

/// The same keys and values from the last to the first: other orders of additions.
void reverse_keys(Call& call) {
  call.tensor("k").reverse(2);
  call.tensor("v").reverse(2);
}

constexpr Fault keys_backwards{.before = reverse_keys};
constexpr Fault grid_shows{.before = [](Call& call) {
  if (call.option("block_heads", 64) < 3) reverse_keys(call);
}};
constexpr Fault batch_shows{.before = [](Call& call) {
  if (sizes(call).B > 1) reverse_keys(call);
}};
constexpr Fault lengths_ignored{.before = [](Call& call) { call.remove_tensor("seq_lens"); }};
constexpr Fault causality_lost{.before = [](Call& call) { set_causal(call, "none"); }};
constexpr Fault kv_heads_backwards{.before = [](Call& call) { call.tensor("k").reverse(1); }};
constexpr Fault last_stride_ignored{.before = [](Call& call) {
  for (const char* name : {"k", "v"}) call.tensor(name).stride[3] = 1;
}};
constexpr Fault queries_ignored{.before = [](Call& call) {
  for (const char* name : {"q", "o", "lse"}) {
    Tensor* const tensor = call.find(name);
    if (tensor != nullptr && tensor->rank() > 2) tensor->shape[2] = 1;
  }
}};
constexpr Fault wide_bias_cut{.before = [](Call& call) {
  Tensor* const bias = call.find("bias");
  if (bias == nullptr || bias->rank() != 4) return;
  bias->shape[0] = bias->shape[1] = 1;
}};
/// `check` does not look into the table.
constexpr Fault lengths_unchecked{.before = [](Call& call) {
  if (!call.has_data()) call.remove_tensor("seq_lens");
}};
constexpr Fault last_row_unwritten{.before =
                                       [](Call& call) {
                                         if (!call.has_data()) return;
                                         // The last head's row goes to memory of the fault's own.
                                         const Tensor& o = call.tensor("o");
                                         call.saved.assign(o.at(o.elements() - 1),
                                                           o.at(o.elements() - 1) + o.element_bytes());
                                       },
                                   .after =
                                       [](Call& call) {
                                         const Tensor& o = call.tensor("o");
                                         std::copy(call.saved.begin(), call.saved.end(), o.at(o.elements() - 1));
                                       }};

using namespace kernels;

constexpr char ordinary[] = "B=2,H=8,Hk=2,Tq=1,Tk=600,D=64,normal";
constexpr char small[] = "B=1,H=4,Hk=4,Tq=1,Tk=65,D=127,normal";
constexpr char odd[] = "B=2,H=3,Hk=1,Tq=1,Tk=257,D=80,Dv=24,normal";
constexpr char mixed[] = "B=9,H=2,Hk=1,Tq=1,Tk=600,D=32,normal,lens=mixed";
constexpr char rising[] = "B=1,H=8,Hk=2,Tq=1,Tk=600,D=64,rising";
constexpr char strangers[] = "*,lens=full,plant=taken_back";

constexpr Mutation rows[] = {
    {.name = "key_short",
     .planted = "every row misses the last of its keys",
     .red_at = {"gate1.reference"},
     .problems = {odd, small},
     .on = {in_split<float, KeyShort>(), in_vec<bf16, KeyShort>()}},
    {.name = "last_split_dropped",
     .planted = "the last of several splits is left out",
     .red_at = {"gate1.reference"},
     .problems = {ordinary},
     .on = {in_split<float, NoLastSplit>(), in_split<bf16, NoLastSplit>()}},
    {.name = "split_a_key_short",
     .planted = "splits behind the first end a key early",
     .red_at = {"gate1.reference"},
     .problems = {ordinary},
     .on = {in_vec<float, ShortSplit>()}},
    {.name = "empty_split_weighed",
     .planted = "an empty split is weighed by exp(−inf − max), and what memory held there shows",
     .red_at = {"gate1.reference"},
     .problems = {mixed},
     .on = {in_split<float, EmptySplitWeighed>(), in_vec<bf16, EmptySplitWeighed>()}},
    {.name = "rescale_missing",
     .planted = "splits are added up without regard to their maxima",
     .red_at = {"gate1.reference"},
     .problems = {rising},
     .on = {in_split<float, NoRescale>(), in_split<f16, NoRescale>()}},
    {.name = "rescale_twice",
     .planted = "the share of a split is squared",
     .red_at = {"gate1.reference"},
     .problems = {rising},
     .on = {in_vec<float, RescaleTwice>()}},
    {.name = "nan_split_skipped",
     .planted = "a split counts if its sum is above 0, which a NaN is not",
     .red_at = {"gate1.reference"},
     .problems = {"*,plant=nan_splits"},
     .on = {in_split<float, NanSkipped>(), in_vec<bf16, NanSkipped>()}},
    {.name = "lse_in_base_2",
     .planted = "the LSE is in base 2 in place of base e",
     .red_at = {"gate1.reference"},
     .problems = {small},
     .on = {in_vec<float, BaseTwoLse>()}},
    {.name = "lse_without_max",
     .planted = "the maximum is left out of the LSE",
     .red_at = {"gate1.reference"},
     .problems = {small},
     .on = {in_split<float, NoMaxLse>()}},
    {.name = "empty_row_nan",
     .planted = "a row without keys is 0 / 0",
     .red_at = {"gate1.reference"},
     .problems = {"*,lens=zero"},
     .on = {in_split<float, EmptyRowNan>()}},
    {.name = "weights_narrowed",
     .planted = "weights are narrowed before P·V: f32 to f16, bf16 to e4m3",
     .red_at = {"gate1.reference"},
     .problems = {odd},
     .on = {in_split<float, NarrowWeights<f16>>(), in_split<bf16, NarrowWeights<tile::e4m3>>()}},
    {.name = "scale_twice",
     .planted = "scores are scaled twice",
     .red_at = {"gate1.reference"},
     .problems = {ordinary},
     .on = {in_vec<float, ScaledTwice>()}},
    {.name = "zero_times_masked",
     .planted = "the value at a masked key is multiplied by 0, so that its NaN shows",
     .red_at = {"gate1.reference"},
     .problems = {"*,plant=masked_nan_value"},
     .on = {in_split<float, ZeroTimesValue>()}},
    {.name = "mask_added",
     .planted = "a mask is added, so that a NaN key behind it shows",
     .red_at = {"gate1.reference"},
     .problems = {"*,plant=masked_nan_key", "*,plant=masked_split"},
     .on = {in_vec<float, AddedMask>()}},
    {.name = "query_unrounded",
     .planted = "with q_round, Q is computed with as it is stored",
     .red_at = {"gate1.reference", "gate3.pair"},
     .problems = {"*,q_round"},
     .on = {in_vec<bf16, QueryUnrounded>()}},
    {.name = "splits_by_longest",
     .planted = "splits follow from the longest sequence",
     .red_at = {"gate3.batch", "gate3.pad", "gate3.pair"},
     .problems = {strangers},
     .on = {split_by_longest()}},
    {.name = "keys_backwards",
     .planted = "keys are added up from the last to the first",
     .red_at = {"gate3.pair"},
     .problems = {ordinary},
     .on = around(keys_backwards, decode_split_f32, decode_split_f16)},
    {.name = "grid_shows",
     .planted = "blocks of one or two heads add up keys in another order",
     .red_at = {"gate3.grid"},
     .problems = {ordinary},
     .on = around(grid_shows, decode_split_f32, decode_split_bf16)},
    {.name = "batch_shows",
     .planted = "sequences among strangers are added up in another order",
     .red_at = {"gate3.batch"},
     .problems = {ordinary},
     .on = around(batch_shows, decode_vec_f32, decode_split_f32)},
    {.name = "lengths_ignored",
     .planted = "every sequence has as many keys as the cache has room",
     .red_at = {"gate1.reference"},
     .problems = {mixed},
     .on = around(lengths_ignored, decode_split_bf16, decode_vec_f16)},
    {.name = "causality_lost",
     .planted = "causality is dropped, so a row sees keys behind its own",
     .red_at = {"gate1.reference"},
     .problems = {"B=2,H=2,Hk=1,Tq=1,Tk=300,D=32,causal=top_left,normal"},
     .on = around(causality_lost, decode_split_bf16, decode_vec_f32)},
    {.name = "kv_heads_backwards",
     .planted = "K is read from the KV heads in reverse",
     .red_at = {"gate1.reference"},
     .problems = {ordinary},
     .on = around(kv_heads_backwards, decode_split_f16)},
    {.name = "last_stride_ignored",
     .planted = "the last axis of K and V is taken as contiguous",
     .red_at = {"gate3.view"},
     .problems = {small},
     .on = around(last_stride_ignored, decode_split_f32, decode_vec_bf16)},
    {.name = "last_element_unwritten",
     .planted = "the last element is not written",
     .red_at = {"gate1.reference", "gate2.written"},
     .problems = {small},
     .on = around(last_row_unwritten, decode_vec_f16)},
    {.name = "queries_ignored",
     .planted = "of several queries the first is taken",
     .red_at = {"gate4.shape"},
     .problems = {small},
     .on = around(queries_ignored, decode_split_f32)},
    {.name = "wide_bias_cut",
     .planted = "of a bias for each sequence or head the first is taken",
     .red_at = {"gate4.mask"},
     .problems = {small},
     .on = around(wide_bias_cut, decode_vec_f32)},
    {.name = "lengths_unchecked",
     .planted = "lengths are not looked at by check",
     .red_at = {"gate4.lengths"},
     .problems = {small},
     .on = around(lengths_unchecked, decode_split_bf16)},
};

}  // namespace

std::span<const Mutation> decode_rules() { return rows; }

}  // namespace nbx::controls
