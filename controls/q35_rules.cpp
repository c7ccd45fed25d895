// Rows-first attention, wrong on purpose.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "controls/faults.hpp"
#include "controls/tables.hpp"
#include "kernels/pack/kernels.hpp"
#include "kernels/q35/kernel.hpp"

namespace nbx::controls {
namespace {

using q35::Rules;
using tile::bf16;
using tile::e4m3;

struct NoLastChunk : Rules {
  NBX_FUNCTION static std::int64_t keys(std::int64_t visible, std::int64_t first, std::int64_t width) {
    return first > 0 && first + width >= visible ? 0 : Rules::keys(visible, first, width);
  }
};

/// Chunks stay at 128 keys, however many the row has.
struct NarrowChunks : Rules {
  NBX_FUNCTION static std::int64_t width(std::int64_t) { return q35::chunk_keys; }
};

struct LimitLate : Rules {
  NBX_FUNCTION static std::int64_t keys(std::int64_t visible, std::int64_t first, std::int64_t width) {
    return Rules::keys(visible == 0 ? 0 : visible + 1, first, width);
  }
};

struct KeyScaleIgnored : Rules {
  NBX_FUNCTION static float score_scale(float scale, const float*, std::int64_t, std::int64_t) { return scale; }
};
struct KeyScaleSquared : Rules {
  NBX_FUNCTION static float score_scale(float scale, const float* k_scale, std::int64_t head, std::int64_t step) {
    return scale * k_scale[head * step] * k_scale[head * step];
  }
};
struct FirstHeadsScales : Rules {
  NBX_FUNCTION static float score_scale(float scale, const float* k_scale, std::int64_t, std::int64_t) {
    return scale * k_scale[0];
  }
};
struct ValueScaleIgnored : Rules {
  NBX_FUNCTION static float value(float sum, float) { return sum; }
};
struct ValueScaleSquared : Rules {
  NBX_FUNCTION static float value(float sum, float scale) { return sum * scale * scale; }
};
struct FirstHeadsValueScale : Rules {
  NBX_FUNCTION static float value_scale(const float* v_scale, std::int64_t, std::int64_t) { return v_scale[0]; }
};

struct NoRescale : Rules {
  NBX_FUNCTION static float share(float chunk_max, float, float) {
    return tile::select(chunk_max == Max::identity, tile::no_term(), 1.0F);
  }
};

struct EmptyChunkWeighed : Rules {
  NBX_FUNCTION static float share(float chunk_max, float, float max) { return tile::exp(chunk_max - max); }
};

struct EmptyRowNan : Rules {
  NBX_FUNCTION static bool is_empty(float) { return false; }
};

template <class T>
inline constexpr const nbx_kernel* honest_merge = &kernels::q35_merge_bf16;
template <>
inline constexpr const nbx_kernel* honest_merge<e4m3> = &kernels::q35_merge_e4m3;
template <class T>
inline constexpr const nbx_kernel* honest_partial = &kernels::q35_partial_bf16;
template <>
inline constexpr const nbx_kernel* honest_partial<e4m3> = &kernels::q35_partial_e4m3;

template <class T, class R, class Merge = R>
constexpr Target in_merge() {
  return in_place_of<q35::MergeKernel<T, R, Merge>>(*honest_merge<T>);
}
template <class T, class R>
constexpr Target in_partial() {
  return in_place_of<q35::PartialKernel<T, R>>(*honest_partial<T>);
}

/// The sum of the first chunk moves by an ulp: within the bound.
void nudge_sum(Call& call) {
  const Tensor& pl = call.tensor("pl");
  if (pl.elements() > 0) pl.set_value(0, std::nextafter(pl.value(0), 1e30F));
}
constexpr Fault chunks_first_shows{.after = [](Call& call) {
  if (call.option("chunks_first", 0) == 1) nudge_sum(call);
}};
constexpr Fault lone_row_shows{.after = [](Call& call) {
  if (call.tensor("q").shape[0] == 1) nudge_sum(call);
}};
constexpr Fault streams_show{.after = [](Call& call) {
  if (call.tensor("k").shape[0] > 1) nudge_sum(call);
}};

/// Of a row that is launched alone, the last chunk is left out.
constexpr Fault lone_row_loses_a_chunk{.before = [](Call& call) {
  Tensor& limit = call.tensor("limit");
  if (limit.shape[0] != 1 || !call.has_data()) return;
  std::int32_t keys = 0;
  std::memcpy(&keys, limit.at(0), sizeof keys);
  keys = (keys - 1) / 128 * 128;
  std::byte* const own = call.memory(sizeof keys);
  std::memcpy(own, &keys, sizeof keys);
  limit.view.tensor.data = own;
  limit.view.tensor.byte_offset = 0;
}};

constexpr Fault sums_in_another_base{.after = [](Call& call) {
  const Tensor& pm = call.tensor("pm");
  for (std::int64_t i = 0; i < pm.elements(); ++i) pm.set_value(i, pm.value(i) * 0x1.715476p0F);
}};

/// A chunk past the limit is marked by a finite number.
constexpr Fault finite_empty_mark{.after = [](Call& call) {
  const Tensor& pm = call.tensor("pm");
  for (std::int64_t i = 0; i < pm.elements(); ++i) {
    if (pm.value(i) == -std::numeric_limits<float>::infinity()) pm.set_value(i, -1e30F);
  }
}};

constexpr Fault empty_chunk_unwritten{
    .before =
        [](Call& call) {
          if (!call.has_data()) return;
          const Tensor& po = call.tensor("po");
          for (std::int64_t i = 0; i < po.elements(); ++i) {
            call.saved.insert(call.saved.end(), po.at(i), po.at(i) + po.element_bytes());
          }
        },
    .after =
        [](Call& call) {
          const Tensor& po = call.tensor("po");
          const Tensor& pm = call.tensor("pm");
          for (std::int64_t i = 0; i < po.elements(); ++i) {
            if (pm.value(i / po.shape[3]) != -std::numeric_limits<float>::infinity()) continue;
            std::memcpy(po.at(i), call.saved.data() + static_cast<std::size_t>(i) * po.element_bytes(),
                        po.element_bytes());
          }
        }};

/// A grid whose axis ends at 65,535.
constexpr Fault rows_of_16_bits{.before = [](Call& call) {
  for (const char* name : {"q", "o", "stream", "limit"}) {
    Tensor* const tensor = call.find(name);
    if (tensor != nullptr) tensor->shape[0] = std::min<std::int64_t>(tensor->shape[0], 65'535);
  }
}};
constexpr Fault chunks_clamped{.before = [](Call& call) {
  const nbx_param* const chunks = call.param("chunks");
  if (chunks == nullptr) return;
  call.set_param({"chunks", NBX_INT, std::clamp<std::int64_t>(chunks->integer, 3, 64), 0, nullptr});
}};
constexpr Fault tables_unchecked{.before = [](Call& call) {
  // Of `check` alone: it has a workspace, and no data to look at.
  if (call.has_data() || call.launch.workspace == nullptr) return;
  for (const char* name : {"q", "o", "stream", "limit", "pm", "pl", "po"}) {
    Tensor* const tensor = call.find(name);
    if (tensor != nullptr) tensor->shape[0] = 0;
  }
}};

using namespace kernels;

constexpr char ordinary[] = "window=4,H=4,Hk=2,keys=300,normal";
constexpr char edges[] = "edges=6,H=2,Hk=1,keys=400,normal";
constexpr char streams[] = "streams=8,H=3,Hk=1,keys=260,normal";
constexpr char rising[] = "window=4,H=2,Hk=1,keys=600,rising";

constexpr Mutation rows[] = {
    {.name = "last_chunk_dropped",
     .planted = "the last of several chunks is left out",
     .red_at = {"gate1.reference"},
     .problems = {ordinary},
     .on = {in_merge<bf16, NoLastChunk>(), in_merge<e4m3, NoLastChunk>(), in_partial<bf16, NoLastChunk>()}},
    {.name = "chunks_stay_narrow",
     .planted = "chunks do not widen past 8,192 keys, so that those past the last chunk are lost",
     .red_at = {"gate1.reference"},
     .problems = {"window=2,H=1,Hk=1,keys=9000,normal"},
     .on = {in_merge<bf16, NarrowChunks>(), in_partial<e4m3, NarrowChunks>()}},
    {.name = "limit_late",
     .planted = "each row sees one key past its limit",
     .red_at = {"gate1.reference"},
     .problems = {edges},
     .on = {in_merge<bf16, LimitLate>(), in_partial<e4m3, LimitLate>()}},
    {.name = "key_scale_ignored",
     .planted = "the scale of K is left out",
     .red_at = {"gate1.reference"},
     .problems = {ordinary},
     .on = {in_merge<e4m3, KeyScaleIgnored>()}},
    {.name = "key_scale_squared",
     .planted = "the scale of K is applied twice",
     .red_at = {"gate1.reference"},
     .problems = {ordinary},
     .on = {in_partial<e4m3, KeyScaleSquared>()}},
    {.name = "key_scale_of_first_head",
     .planted = "every KV head takes the K scale of the first",
     .red_at = {"gate1.reference"},
     .problems = {ordinary},
     .on = {in_merge<e4m3, FirstHeadsScales>()}},
    {.name = "value_scale_ignored",
     .planted = "the scale of V is left out",
     .red_at = {"gate1.reference"},
     .problems = {ordinary},
     .on = {in_merge<e4m3, ValueScaleIgnored>()}},
    {.name = "value_scale_squared",
     .planted = "the scale of V is applied twice",
     .red_at = {"gate1.reference"},
     .problems = {ordinary},
     .on = {in_partial<e4m3, ValueScaleSquared>()}},
    {.name = "value_scale_of_first_head",
     .planted = "every KV head takes the V scale of the first",
     .red_at = {"gate1.reference"},
     .problems = {ordinary},
     .on = {in_merge<e4m3, FirstHeadsValueScale>()}},
    {.name = "nan_chunk_skipped",
     .planted = "a chunk counts if its sum is above 0, which a NaN is not",
     .red_at = {"gate1.reference"},
     .problems = {"*,plant=nan_chunk"},
     .on = {in_merge<bf16, Rules, q35::PublishedRules>(), in_merge<e4m3, Rules, q35::PublishedRules>()}},
    {.name = "rescale_missing",
     .planted = "chunks are added up without regard to their maxima",
     .red_at = {"gate1.reference"},
     .problems = {rising},
     .on = {in_merge<bf16, Rules, NoRescale>()}},
    {.name = "empty_chunk_weighed",
     .planted = "an empty chunk is weighed by exp(−inf − max), and what memory held there shows",
     .red_at = {"gate1.reference"},
     .problems = {edges},
     .on = {in_merge<bf16, Rules, EmptyChunkWeighed>()}},
    {.name = "empty_row_nan",
     .planted = "a row of limit 0 is 0 / 0",
     .red_at = {"gate1.reference"},
     .problems = {edges},
     .on = {in_merge<bf16, Rules, EmptyRowNan>()}},
    {.name = "maxima_in_base_2",
     .planted = "the maxima of partials are in base 2",
     .red_at = {"gate1.reference"},
     .problems = {ordinary},
     .on = around(sums_in_another_base, q35_partial_bf16)},
    {.name = "finite_empty_mark",
     .planted = "an empty chunk is marked by a finite number in place of −inf",
     .red_at = {"gate1.reference"},
     .problems = {edges},
     .on = around(finite_empty_mark, q35_partial_bf16)},
    {.name = "empty_chunk_unwritten",
     .planted = "the sums of an empty chunk are not written",
     .red_at = {"gate1.reference", "gate2.written"},
     .problems = {edges},
     .on = around(empty_chunk_unwritten, q35_partial_bf16)},
    {.name = "chunks_first_shows",
     .planted = "with chunks first a sum moves by an ulp",
     .red_at = {"gate3.grid"},
     .problems = {ordinary},
     .on = around(chunks_first_shows, q35_partial_bf16, q35_partial_e4m3)},
    {.name = "lone_row_shows",
     .planted = "a sum of a row that is launched alone moves by an ulp",
     .red_at = {"gate3.rows"},
     .problems = {ordinary},
     .on = around(lone_row_shows, q35_partial_bf16)},
    {.name = "streams_show",
     .planted = "among other streams a sum moves by an ulp",
     .red_at = {"gate3.batch"},
     .problems = {streams},
     .on = around(streams_show, q35_partial_bf16)},
    {.name = "lone_row_loses_a_chunk",
     .planted = "a row that is launched alone loses its last chunk",
     .red_at = {"gate3.rows"},
     .problems = {ordinary},
     .on = around(lone_row_loses_a_chunk, q35_merge_bf16, q35_merge_e4m3)},
    {.name = "rows_of_16_bits",
     .planted = "rows past 65,535 are not computed",
     .red_at = {"gate4.grid"},
     .problems = {ordinary},
     .on = around(rows_of_16_bits, q35_merge_bf16)},
    {.name = "chunks_clamped",
     .planted = "a number of chunks out of range is moved into it",
     .red_at = {"gate4.chunks"},
     .problems = {ordinary},
     .on = around(chunks_clamped, q35_merge_bf16)},
    {.name = "tables_unchecked",
     .planted = "check looks into no table",
     .red_at = {"gate4.table", "gate4.lengths"},
     .problems = {ordinary},
     .on = around(tables_unchecked, q35_merge_e4m3)},
};

}  // namespace

std::span<const Mutation> q35_rules() { return rows; }

}  // namespace nbx::controls
