// Paged append and paged decode, wrong on purpose.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "controls/faults.hpp"
#include "controls/tables.hpp"
#include "kernels/pack/kernels.hpp"
#include "kernels/paged/append.hpp"
#include "kernels/paged/decode.hpp"

namespace nbx::controls {
namespace {

using paged::AppendRules;
using paged::Rules;
using tile::bf16;

constexpr char no_name[] = "";

struct NextEntry : Rules {
  NBX_FUNCTION static std::int64_t page(const std::int32_t* row, std::int64_t number, std::int64_t step,
                                        std::int64_t pages) {
    return Rules::page(row, number == 0 ? 1 : number - 1, step, pages);
  }
};

struct NextPage : Rules {
  NBX_FUNCTION static std::int64_t page(const std::int32_t* row, std::int64_t number, std::int64_t step,
                                        std::int64_t pages) {
    return (Rules::page(row, number, step, pages) + 1) % pages;
  }
};

/// One position behind the end is read.
struct KeyTooMany : Rules {
  NBX_FUNCTION static std::int64_t length(std::int64_t length, std::int64_t most) {
    const std::int64_t honest = Rules::length(length, most);
    return honest % paged::position_tile == 0 ? honest : honest + 1;
  }
};

struct NoLastSplit : Rules {
  NBX_FUNCTION static std::int64_t keys(std::int64_t visible, std::int64_t first, std::int64_t width) {
    return first > 0 && first + width >= visible ? 0 : Rules::keys(visible, first, width);
  }
};

struct EmptySplitWeighed : Rules {
  NBX_FUNCTION static float share(float split_max, float, float max) { return tile::exp(split_max - max); }
};

template <class R>
constexpr Target in_paged() {
  return in_place_of<paged::DecodeKernel<float, no_name, R>>(kernels::paged_decode_f32);
}

struct SlotLate : AppendRules {
  NBX_FUNCTION static std::int64_t slot(std::int64_t slot, std::int64_t places) {
    return slot < 0 ? -1 : (slot + 1) % places;
  }
};

struct SkippedToFirst : AppendRules {
  NBX_FUNCTION static std::int64_t slot(std::int64_t slot, std::int64_t places) {
    return slot < 0 ? 0 : AppendRules::slot(slot, places);
  }
};

struct CutCast : AppendRules {
  template <class T>
  NBX_FUNCTION static T cast(float x) {
    const T nearest = tile::encode<T>(x);
    const float kept = tile::decode(nearest);
    const bool outward = kept > x ? x > 0 : kept < x && x < 0;
    return outward ? T{static_cast<typename T::Bits>(nearest.bits - 1U)} : nearest;
  }
};

constexpr Fault position_zero_cleared{.after = [](Call& call) { call.tensor("pool").set_value(0, 0.5F); }};
constexpr Fault slots_unchecked{.before = [](Call& call) {
  if (call.has_data()) return;
  for (const char* name : {"new", "slots"}) call.tensor(name).shape[0] = 0;
}};
/// Of a pool of other heads or head dims the common part is taken.
constexpr Fault other_pool_taken{.before = [](Call& call) {
  Tensor& tokens = call.tensor("new");
  Tensor& pool = call.tensor("pool");
  if (pool.rank() != 4 || tokens.rank() != 3) return;
  tokens.shape[1] = pool.shape[1] = std::min(tokens.shape[1], pool.shape[1]);
  tokens.shape[2] = pool.shape[3] = std::min(tokens.shape[2], pool.shape[3]);
}};
constexpr Fault tables_unchecked{.before = [](Call& call) {
  // Of `check` alone: it has a workspace, and no data to look at.
  if (call.has_data() || call.launch.workspace == nullptr) return;
  for (const char* name : {"q", "o", "lse", "block_table", "seq_lens"}) {
    Tensor* const tensor = call.find(name);
    if (tensor != nullptr) tensor->shape[0] = 0;
  }
}};

/// Every sequence is as long as the longest.
constexpr Fault lengths_ignored{.before = [](Call& call) {
  Tensor& lengths = call.tensor("seq_lens");
  if (!call.has_data()) return;
  std::int32_t longest = static_cast<std::int32_t>(call.param("max_seq_len")->integer);
  std::byte* const own = call.memory(sizeof longest);
  std::memcpy(own, &longest, sizeof longest);
  lengths.view.tensor.data = own;
  lengths.view.tensor.byte_offset = 0;
  lengths.stride[0] = 0;
}};

/// The scale moves by an ulp: within the bound.
void nudge_scale(Call& call) {
  const nbx_param* const stated = call.param("scale");
  const double scale =
      stated != nullptr ? stated->real : 1.0 / std::sqrt(static_cast<double>(call.tensor("q").shape[3]));
  set_scale(call, static_cast<double>(std::nextafter(static_cast<float>(scale), 1.0F)));
}
constexpr Fault pool_size_shows{.before = [](Call& call) {
  if (call.tensor("k_pool").shape[0] > 39) nudge_scale(call);
}};
constexpr Fault batch_shows{.before = [](Call& call) {
  if (call.tensor("q").shape[0] > 1) nudge_scale(call);
}};
constexpr Fault scale_off{.before = nudge_scale};
constexpr Fault token_stride_ignored{.before = [](Call& call) {
  for (const char* name : {"k_pool", "v_pool"}) call.tensor(name).stride[2] = call.tensor(name).shape[3];
}};
constexpr Fault page_size_unchecked{.before = [](Call& call) {
  for (const char* name : {"k_pool", "v_pool"}) {
    Tensor& pool = call.tensor(name);
    if (pool.rank() == 4) pool.shape[2] = pool.shape[2] / paged::position_tile * paged::position_tile;
  }
}};

using namespace kernels;

constexpr char ordinary[] = "B=3,H=4,Hk=2,Tq=1,Tk=700,D=64,normal,page=64";
constexpr char small[] = "B=2,H=3,Hk=1,Tq=1,Tk=200,D=80,Dv=24,normal,page=128";
constexpr char mixed[] = "B=9,H=2,Hk=1,Tq=1,Tk=600,D=32,normal,page=64,lens=mixed";
constexpr char append[] = "N=5,Hk=2,D=64,pages=3x64,normal";
constexpr char skipping[] = "N=70,Hk=3,D=24,pages=2x48,skip=3,normal";

constexpr Mutation rows[] = {
    {.name = "entry_before",
     .planted = "the block table is read one entry early",
     .red_at = {"gate1.reference"},
     .problems = {ordinary},
     .on = {in_paged<NextEntry>()}},
    {.name = "page_after",
     .planted = "the page after the right one is read, of another sequence or of nobody",
     .red_at = {"gate1.reference"},
     .problems = {ordinary},
     .on = {in_paged<NextPage>()}},
    {.name = "stale_position",
     .planted = "one position behind the end of a sequence is read",
     .red_at = {"gate1.reference"},
     .problems = {ordinary},
     .on = {in_paged<KeyTooMany>()}},
    {.name = "last_split_dropped",
     .planted = "the last of several splits is left out",
     .red_at = {"gate1.reference"},
     .problems = {ordinary},
     .on = {in_paged<NoLastSplit>()}},
    {.name = "empty_split_weighed",
     .planted = "an empty split is weighed by exp(−inf − max), and what memory held there shows",
     .red_at = {"gate1.reference"},
     .problems = {mixed},
     .on = {in_paged<EmptySplitWeighed>()}},
    {.name = "lengths_ignored",
     .planted = "every sequence is as long as the longest: table entries behind an end are followed",
     .red_at = {"gate1.reference"},
     .problems = {"*,lens=mixed,plant=stale_pages"},
     .on = around(lengths_ignored, paged_decode_f32, paged_decode_bf16),
     .crashes = true},
    {.name = "pool_size_shows",
     .planted = "in a larger pool the scale moves by an ulp",
     .red_at = {"gate3.pages"},
     .problems = {ordinary},
     .on = around(pool_size_shows, paged_decode_f32)},
    {.name = "batch_shows",
     .planted = "among strangers the scale moves by an ulp",
     .red_at = {"gate3.batch"},
     .problems = {ordinary},
     .on = around(batch_shows, paged_decode_f32)},
    {.name = "scale_off",
     .planted = "the scale is off by an ulp, within the bound: the bits of decode.vec on the gathered cache tell",
     .red_at = {"gate3.pair"},
     .problems = {ordinary},
     .on = around(scale_off, paged_decode_f32)},
    {.name = "token_stride_ignored",
     .planted = "the positions of a page are taken as contiguous",
     .red_at = {"gate2.reads", "gate3.view"},
     .problems = {small},
     .on = around(token_stride_ignored, paged_decode_f32)},
    {.name = "tables_unchecked",
     .planted = "check looks into no table",
     .red_at = {"gate4.table", "gate4.lengths"},
     .problems = {small},
     .on = around(tables_unchecked, paged_decode_f32, paged_decode_bf16)},
    {.name = "page_size_unchecked",
     .planted = "of a page of 96 positions 64 are taken",
     .red_at = {"gate4.pool"},
     .problems = {small},
     .on = around(page_size_unchecked, paged_decode_f16)},
    {.name = "slot_late",
     .planted = "tokens go one position behind their slot",
     .red_at = {"gate1.reference"},
     .problems = {append},
     .on = {in_place_of<paged::AppendKernel<float, SlotLate>>(paged_append_f32),
            in_place_of<paged::AppendKernel<bf16, SlotLate>>(paged_append_bf16)}},
    {.name = "skipped_to_first",
     .planted = "tokens of slot −1 go to slot 0",
     .red_at = {"gate1.reference"},
     .problems = {skipping},
     .on = {in_place_of<paged::AppendKernel<float, SkippedToFirst>>(paged_append_f32)}},
    {.name = "cast_cut",
     .planted = "the cast to the pool's format cuts towards zero",
     .red_at = {"gate1.reference"},
     .problems = {"N=5,Hk=2,D=64,pages=3x64,from=f32,normal"},
     .on = {in_place_of<paged::AppendKernel<bf16, CutCast>>(paged_append_bf16),
            in_place_of<paged::AppendKernel<tile::f16, CutCast>>(paged_append_f16)}},
    {.name = "unnamed_place_written",
     .planted = "the first element of the pool is written, whatever the slots",
     .red_at = {"gate1.reference"},
     .problems = {append, "N=0,*"},
     .on = around(position_zero_cleared, paged_append_f16)},
    {.name = "other_pool_taken",
     .planted = "of a pool of other heads or another head dim the common part is taken",
     .red_at = {"gate4.pool"},
     .problems = {append},
     .on = around(other_pool_taken, paged_append_f32, paged_append_f16)},
    {.name = "slots_unchecked",
     .planted = "check looks at no slot",
     .red_at = {"gate4.slots"},
     .problems = {append},
     .on = around(slots_unchecked, paged_append_f32, paged_append_bf16)},
};

}  // namespace

std::span<const Mutation> paged_rules() { return rows; }

}  // namespace nbx::controls
