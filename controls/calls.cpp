// Honest kernels that are asked for something else: what gate 1 sees.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <string_view>

#include "controls/faults.hpp"
#include "controls/tables.hpp"
#include "kernels/pack/kernels.hpp"

namespace nbx::controls {
namespace {

constexpr Fault last_key_dropped{.before = [](Call& call) { take_keys(call, 0, sizes(call).Tk - 1); }};

constexpr Fault first_key_dropped{.before = [](Call& call) { take_keys(call, 1, sizes(call).Tk - 1); }};

constexpr Fault tail_tile_dropped{.before = [](Call& call) { take_keys(call, 0, sizes(call).Tk / 64 * 64); }};

/// K and V with a key of zeros behind the last, as a tile that is filled up with zeros has it.
constexpr Fault extra_zero_key{.before = [](Call& call) {
  for (const char* name : {"k", "v"}) {
    Tensor& tensor = call.tensor(name);
    Tensor wider = tensor;
    ++wider.shape[2];
    if (call.has_data()) {
      const std::size_t bytes = tensor.element_bytes();
      std::byte* const data = call.memory(static_cast<std::size_t>(wider.elements()) * bytes);
      wider.move_to(data);
      Tensor same_keys = wider;
      same_keys.shape[2] = tensor.shape[2];
      for (std::int64_t i = 0; i < tensor.elements(); ++i) std::memcpy(same_keys.at(i), tensor.at(i), bytes);
    }
    tensor = wider;
  }
}};

constexpr Fault scale_missing{.before = [](Call& call) { set_scale(call, 1); }};

constexpr Fault scale_twice{.before = [](Call& call) { set_scale(call, std::pow(scale_of(call), 2)); }};

constexpr Fault scale_of_padded_head_dim{.before = [](Call& call) {
  const auto padded = std::bit_ceil(static_cast<std::uint64_t>(sizes(call).D));
  set_scale(call, 1.0 / std::sqrt(static_cast<double>(padded)));
}};

constexpr Fault half_the_head_dim{.before = [](Call& call) {
  set_scale(call, scale_of(call));
  const std::int64_t half = sizes(call).D / 2;
  call.tensor("q").shape[3] = half;
  call.tensor("k").shape[3] = half;
}};

constexpr Fault scores_ignored{.before = [](Call& call) { set_scale(call, 0); }};

constexpr Fault k_layout_crossed{.before = [](Call& call) {
  Tensor& k = call.tensor("k");
  if (k.shape[2] == k.shape[3]) std::swap(k.stride[2], k.stride[3]);
}};

/// Every query head reads the KV head after its own.
constexpr Fault next_kv_head{.before = [](Call& call) {
  for (const char* name : {"k", "v"}) {
    Tensor& tensor = call.tensor(name);
    const std::int64_t heads = tensor.shape[1];
    if (!call.has_data()) continue;
    const std::size_t bytes = tensor.element_bytes();
    Tensor turned = tensor;
    turned.move_to(call.memory(static_cast<std::size_t>(tensor.elements()) * bytes));
    const std::int64_t head = tensor.shape[2] * tensor.shape[3];
    for (std::int64_t i = 0; i < tensor.elements(); ++i) {
      const std::int64_t b = i / (heads * head);
      const std::int64_t from = (b * heads + (i / head + 1) % heads) * head + i % head;
      std::memcpy(turned.at(i), tensor.at(from), bytes);
    }
    tensor = turned;
  }
}};

/// One V row holds what the row before it holds.
constexpr Fault stale_v_row{.before = [](Call& call) {
  Tensor& v = call.tensor("v");
  if (!call.has_data()) return;
  const std::size_t bytes = v.element_bytes();
  Tensor own = v;
  own.move_to(call.memory(static_cast<std::size_t>(v.elements()) * bytes));
  const std::int64_t row = v.shape[2] - 1;
  for (std::int64_t i = 0; i < v.elements(); ++i) {
    const bool stale = i / v.shape[3] % v.shape[2] == row;
    std::memcpy(own.at(i), v.at(stale ? i - v.shape[3] : i), bytes);
  }
  v = own;
}};

/// [B, Tq, Tk] read as [H, Tq, Tk], where the two fit.
constexpr Fault bias_along_heads{.before = [](Call& call) {
  Tensor& bias = call.tensor("bias");
  if (bias.rank() != 3 || bias.shape[0] != sizes(call).H) return;
  std::copy_backward(bias.shape, bias.shape + 3, bias.shape + 4);
  std::copy_backward(bias.stride, bias.stride + 3, bias.stride + 4);
  bias.shape[0] = 1;
  bias.stride[0] = 0;
  bias.view.tensor.ndim = 4;
}};

constexpr Fault other_alignment{.before = [](Call& call) {
  const std::string_view causal = causal_of(call);
  set_causal(call, causal == "top_left" ? "bottom_right" : "top_left");
}};

constexpr Fault causality_lost_on_decode{.before = [](Call& call) {
  if (sizes(call).Tq == 1) set_causal(call, "none");
}};

constexpr Fault one_row_zero{.after = [](Call& call) {
  const Tensor& o = call.tensor("o");
  const std::int64_t row = o.elements() / o.shape[3] / 2;
  for (std::int64_t d = 0; d < o.shape[3]; ++d) o.set_value(row * o.shape[3] + d, 0);
}};

constexpr Fault tail_feature_dropped{.before =
                                         [](Call& call) {
                                           const int axis = axis_of(call);
                                           for (const char* name : {"x", "y"}) --call.tensor(name).shape[axis];
                                         },
                                     .after =
                                         [](Call& call) {
                                           const int axis = axis_of(call);
                                           Tensor last = call.tensor("y");
                                           last.shift(axis, last.shape[axis]);
                                           last.shape[axis] = 1;
                                           for (std::int64_t i = 0; i < last.elements(); ++i) last.set_value(i, 0);
                                         }};

constexpr Fault axis_before{.before = [](Call& call) {
  const int axis = axis_of(call);
  call.set_param({"axis", NBX_INT, axis == 0 ? 1 : axis - 1, 0, nullptr});
}};

using namespace kernels;

constexpr char ordinary[] = "B=1,H=3,Hk=1,Tq=7,Tk=63,D=72,normal";
constexpr char grouped[] = "B=3,H=6,Hk=2,Tq=9,Tk=65,D=80,Dv=24,normal";
constexpr char negative[] = "B=1,H=2,Hk=2,Tq=4,Tk=64,D=32,negative";
constexpr char markers[] = "B=1,H=2,Hk=2,Tq=4,Tk=64,D=32,markers";

constexpr Mutation rows[] = {
    {.name = "last_key_dropped",
     .planted = "the key length is one short",
     .red_at = {"gate1.reference"},
     .problems = {ordinary, markers},
     .on = around(last_key_dropped, math_simt_f32, math_simt_f16, math_simt_bf16, chunked_simt_f16, flash_simt_f32)},
    {.name = "first_key_dropped",
     .planted = "keys are read from the second on",
     .red_at = {"gate1.reference"},
     .problems = {ordinary},
     .on = around(first_key_dropped, chunked_simt_bf16, flash_simt_f16)},
    {.name = "tail_tile_dropped",
     .planted = "the tail tile of keys is left out",
     .red_at = {"gate1.reference"},
     .problems = {grouped},
     .on = around(tail_tile_dropped, math_simt_bf16, chunked_simt_f32, flash_simt_f32)},
    {.name = "extra_zero_key",
     .planted = "a key of zeros behind the last takes the weight exp(0)",
     .red_at = {"gate1.reference"},
     .problems = {negative},
     .on = around(extra_zero_key, math_simt_f32, math_simt_bf16, flash_simt_f16)},
    {.name = "scale_missing",
     .planted = "scores are not scaled",
     .red_at = {"gate1.reference"},
     .problems = {ordinary},
     .on = around(scale_missing, math_simt_f32, math_simt_bf16, flash_simt_f16)},
    {.name = "scale_twice",
     .planted = "scores are scaled twice",
     .red_at = {"gate1.reference"},
     .problems = {ordinary},
     .on = around(scale_twice, math_simt_f16, chunked_simt_f32, flash_simt_bf16)},
    {.name = "scale_of_padded_head_dim",
     .planted = "the scale is that of the head dim's next power of two",
     .red_at = {"gate1.reference"},
     .problems = {grouped},
     .on = around(scale_of_padded_head_dim, math_simt_f16, chunked_simt_bf16, flash_simt_f32)},
    {.name = "half_the_head_dim",
     .planted = "only the first half of the head dim enters the scores",
     .red_at = {"gate1.reference"},
     .problems = {"B=1,H=2,Hk=1,Tq=16,Tk=200,D=128,last_dims"},
     .on = around(half_the_head_dim, math_simt_bf16, flash_simt_f32)},
    {.name = "scores_ignored",
     .planted = "Q and K are ignored: the output is the mean of V",
     .red_at = {"gate1.reference"},
     .problems = {ordinary},
     .on = around(scores_ignored, math_simt_f16, flash_simt_bf16)},
    {.name = "k_layout_crossed",
     .planted = "K is read transposed where Tk = D",
     .red_at = {"gate1.reference"},
     .problems = {"B=1,H=1,Hk=1,Tq=64,Tk=64,D=64,normal"},
     .on = around(k_layout_crossed, math_simt_f32, chunked_simt_f16, flash_simt_f16)},
    {.name = "next_kv_head",
     .planted = "each GQA group reads the KV head of the next",
     .red_at = {"gate1.reference"},
     .problems = {grouped},
     .on = around(next_kv_head, math_simt_bf16, flash_simt_f32)},
    {.name = "stale_v_row",
     .planted = "the last row of V is the one before it",
     .red_at = {"gate1.reference"},
     .problems = {markers},
     .on = around(stale_v_row, math_simt_f32, chunked_simt_bf16, flash_simt_f16)},
    {.name = "bias_along_heads",
     .planted = "a bias [B, Tq, Tk] is read as one of heads, where B = H",
     .red_at = {"gate1.reference"},
     .problems = {"*,bias=bqk,mask=holes,*"},
     .on = around(bias_along_heads, math_simt_f32, flash_simt_bf16)},
    {.name = "other_causal_alignment",
     .planted = "top_left stands for bottom_right, and the other way round",
     .red_at = {"gate1.reference"},
     .problems = {"B=1,H=2,Hk=1,Tq=33,Tk=17,D=32,causal=top_left,normal"},
     .on = around(other_alignment, math_simt_f16, chunked_simt_f32, flash_simt_bf16)},
    {.name = "causality_lost_on_decode",
     .planted = "causality is dropped where Tq = 1",
     .red_at = {"gate1.reference"},
     .problems = {"B=1,H=2,Hk=1,Tq=1,Tk=40,D=32,causal=top_left,normal"},
     .on = around(causality_lost_on_decode, math_simt_bf16, flash_simt_f32)},
    {.name = "one_row_zero",
     .planted = "one output row is zero",
     .red_at = {"gate1.reference"},
     .problems = {ordinary},
     .on = around(one_row_zero, chunked_simt_f16, flash_simt_f16)},
    {.name = "tail_feature_dropped",
     .planted = "the last feature is left out and gets the weight 0",
     .red_at = {"gate1.reference"},
     .problems = {"shape=4x640,axis=-1,marker", "shape=33x65,axis=-1,normal"},
     .on = around(tail_feature_dropped, softmax_tile_f32, softmax_tile_bf16, softmax_looped_f16)},
    {.name = "axis_before",
     .planted = "the softmax runs along the neighbouring axis",
     .red_at = {"gate1.reference"},
     .problems = {"shape=3x5x7,axis=1,normal"},
     .on = around(axis_before, softmax_tile_f16, log_softmax_looped_f16)},
};

}  // namespace

std::span<const Mutation> calls() { return rows; }

}  // namespace nbx::controls
