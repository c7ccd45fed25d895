// Answers within the bound whose bits depend on what they must not: what only gate 3 sees.
#include "controls/faults.hpp"
#include "controls/math_parts.hpp"
#include "controls/tables.hpp"

namespace nbx::controls {
namespace {

constexpr Fault grid_shows{.before = [](Call& call) {
  if (call.option("block_rows", 64) < 32) reverse_head_dim(call);
}};

constexpr Fault chunk_shows{.before = [](Call& call) {
  if (call.option("chunk_rows", 128) < 33) reverse_head_dim(call);
}};

constexpr Fault batch_shows{.before = [](Call& call) {
  const Sizes of = sizes(call);
  if (of.B * of.Hk > 2) reverse_head_dim(call);
}};

constexpr Fault group_shows{.before = [](Call& call) {
  const Sizes of = sizes(call);
  if (of.H > of.Hk) reverse_head_dim(call);
}};

constexpr Fault head_dim_backwards{.before = reverse_head_dim};

/// Only where it is launched alone.
constexpr Fault single_row_loses_a_key{.before = [](Call& call) {
  const Sizes of = sizes(call);
  if (of.Tq == 1) take_keys(call, 0, of.Tk - 1);
}};

constexpr Fault single_row_backwards{.before = [](Call& call) {
  const int axis = axis_of(call);
  Tensor& x = call.tensor("x");
  if (x.elements() != x.shape[axis]) return;
  for (const char* name : {"x", "y"}) call.tensor(name).reverse(axis);
}};

constexpr Fault last_stride_ignored{.before = [](Call& call) {
  for (const char* name : {"k", "v"}) call.tensor(name).stride[3] = 1;
}};

constexpr Fault row_stride_ignored{.before = [](Call& call) {
  Tensor& tensor = call.find("x") != nullptr ? call.tensor("x") : call.tensor("k");
  const int last = tensor.rank() - 1;
  tensor.stride[last - 1] = tensor.shape[last];
}};

/// Strides as they are stored, of axes of size 1 too.
struct StridedSizeOne : math::Rules {
  template <int N>
  static pack::Layout<N> layout(const pack::Tensor& tensor) {
    pack::Layout<N> out{};
    for (int axis = 0; axis < tensor.rank; ++axis) out.stride[N - tensor.rank + axis] = tensor.stride[axis];
    return out;
  }
};

using namespace kernels;

constexpr char ordinary[] = "B=1,H=3,Hk=1,Tq=7,Tk=63,D=72,normal";
constexpr char grouped[] = "B=3,H=6,Hk=2,Tq=9,Tk=65,D=80,Dv=24,normal";

constexpr Mutation rows[] = {
    {.name = "grid_shows",
     .planted = "low blocks add up scores in another order",
     .red_at = {"gate3.grid"},
     .problems = {ordinary},
     .on = around(grid_shows, math_simt_f32, chunked_simt_bf16, flash_simt_f32)},
    {.name = "chunk_shows",
     .planted = "low chunks add up scores in another order",
     .red_at = {"gate3.chunk"},
     .problems = {ordinary},
     .on = around(chunk_shows, chunked_simt_f32, chunked_simt_f16)},
    {.name = "batch_shows",
     .planted = "larger batches add up scores in another order",
     .red_at = {"gate3.batch"},
     .problems = {grouped},
     .on = around(batch_shows, math_simt_bf16, chunked_simt_f32, flash_simt_f16)},
    {.name = "group_shows",
     .planted = "heads that share K and V add up scores in another order",
     .red_at = {"gate3.pair"},
     .problems = {grouped},
     .on = around(group_shows, math_simt_f32, flash_simt_bf16)},
    {.name = "head_dim_backwards",
     .planted = "scores are added up from the last head dim to the first",
     .red_at = {"gate3.pair"},
     .problems = {ordinary},
     .on = around(head_dim_backwards, chunked_simt_f32, chunked_simt_bf16)},
    {.name = "head_dim_backwards",
     .planted = "scores are added up from the last head dim to the first, within the bound: only the recorded bits of "
                "another device tell",
     .red_at = {"gate3.twin"},
     .problems = {ordinary},
     .on = around(head_dim_backwards, math_simt_f32, math_simt_f16, math_simt_bf16)},
    {.name = "single_row_loses_a_key",
     .planted = "a row that is launched alone loses its last key",
     .red_at = {"gate3.rows"},
     .problems = {ordinary},
     .on = around(single_row_loses_a_key, math_simt_f16, chunked_simt_bf16, flash_simt_f32)},
    {.name = "single_row_backwards",
     .planted = "a row that is launched alone is added up in another order",
     .red_at = {"gate3.rows"},
     .problems = {"shape=4x640,axis=-1,rising", "shape=3x4096,axis=-1,normal"},
     .on = around(single_row_backwards, softmax_tile_f32)},
    {.name = "last_stride_ignored",
     .planted = "the last axis of K and V is taken as contiguous",
     .red_at = {"gate3.view"},
     .problems = {ordinary},
     .on = around(last_stride_ignored, math_simt_f32, chunked_simt_f16, flash_simt_bf16)},
    {.name = "row_stride_ignored",
     .planted = "rows are taken as contiguous",
     .red_at = {"gate2.reads", "gate3.view"},
     .problems = {ordinary, "shape=33x65,axis=-1,normal"},
     .on = around(row_stride_ignored, math_simt_bf16, softmax_tile_f32, flash_simt_f16)},
    {.name = "size_1_axis_strided",
     .planted = "an axis of size 1 is read with the stride that it stores, past the end of a bias [1, Tk]",
     .red_at = {"gate1.reference"},
     .problems = {"B=2,H=2,Hk=1,Tq=19,Tk=67,D=32,bias=1k,normal"},
     .on = {in_math<float, StridedSizeOne>(), in_chunked<tile::bf16, StridedSizeOne>()},
     .crashes = true},
};

}  // namespace

std::span<const Mutation> equalities() { return rows; }

}  // namespace nbx::controls
