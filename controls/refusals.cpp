// Invalid calls that are not refused, or not as they should be: what gate 4 sees.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "controls/faults.hpp"
#include "controls/tables.hpp"
#include "kernels/pack/kernels.hpp"
#include "kernels/pack/refusal.hpp"

namespace nbx::controls {
namespace {

/// Both sizes become the smaller one.
void agree(std::int64_t& a, std::int64_t& b) { a = b = std::min(a, b); }

constexpr Fault axis_wrapped{.before = [](Call& call) {
  const nbx_param* const axis = call.param("axis");
  if (axis == nullptr) return;
  const std::int64_t rank = call.tensor("x").rank();
  call.set_param({"axis", NBX_INT, (axis->integer % rank + rank) % rank, 0, nullptr});
}};

constexpr Fault shapes_cut{.before = [](Call& call) {
  if (call.find("x") != nullptr) {
    Tensor& x = call.tensor("x");
    Tensor& y = call.tensor("y");
    if (x.rank() != y.rank()) return;
    for (int axis = 0; axis < x.rank(); ++axis) agree(x.shape[axis], y.shape[axis]);
    return;
  }
  Tensor& q = call.tensor("q");
  Tensor& o = call.tensor("o");
  if (q.rank() != 4 || o.rank() != 4) return;
  for (int axis = 0; axis < 3; ++axis) o.shape[axis] = std::min(o.shape[axis], q.shape[axis]);
  agree(o.shape[3], call.tensor("v").shape[3]);
}};

constexpr Fault formats_taken_on_trust{.before = [](Call& call) {
  for (const char* name : {"x", "y", "q", "k", "v", "o"}) {
    Tensor* const tensor = call.find(name);
    if (tensor != nullptr) tensor->view.tensor.dtype = {kDLFloat, 16, 1};
  }
}};

constexpr Fault missing_replaced{.before = [](Call& call) {
  if (call.find("x") != nullptr && call.find("y") == nullptr) {
    call.add_tensor("y", call.tensor("x"));
    call.tensor("y").view.role = NBX_OUT;
  }
  if (call.find("k") != nullptr && call.find("v") == nullptr) call.add_tensor("v", call.tensor("k"));
}};

constexpr Fault unknown_ignored{.before = [](Call& call) {
  for (const char* name : {"window", "soft_cap", "temperature"}) call.remove_param(name);
  for (const char* name : {"sinks", "mask"}) call.remove_tensor(name);
}};

constexpr Fault unknown_ignored_by_run{.before = [](Call& call) {
  if (call.has_data()) unknown_ignored.before(call);
}};

constexpr Fault head_dims_cut{
    .before = [](Call& call) { agree(call.tensor("q").shape[3], call.tensor("k").shape[3]); }};

constexpr Fault head_dims_cut_by_run{.before = [](Call& call) {
  if (call.has_data()) head_dims_cut.before(call);
}};

constexpr Fault heads_cut{.before = [](Call& call) {
  const Sizes of = sizes(call);
  std::int64_t heads = std::min(of.H, of.Hk);
  while (heads > 1 && of.H % heads != 0) --heads;
  call.tensor("k").shape[1] = call.tensor("v").shape[1] = heads;
}};

constexpr Fault kv_shapes_cut{.before = [](Call& call) {
  Tensor& k = call.tensor("k");
  Tensor& v = call.tensor("v");
  for (int axis = 0; axis < 3; ++axis) agree(k.shape[axis], v.shape[axis]);
  k.shape[0] = v.shape[0] = std::min(k.shape[0], call.tensor("q").shape[0]);
}};

constexpr Fault misfit_mask_ignored{.before = [](Call& call) {
  const Tensor* const bias = call.find("bias");
  if (bias == nullptr) return;
  const Sizes of = sizes(call);
  const std::int64_t full[4] = {of.B, of.H, of.Tq, of.Tk};
  bool fits = bias->rank() == 2 || bias->rank() == 4;
  for (int axis = 0; fits && axis < bias->rank(); ++axis) {
    fits = bias->shape[axis] == 1 || bias->shape[axis] == full[4 - bias->rank() + axis];
  }
  if (!fits || bias->view.tensor.dtype.code == kDLInt) call.remove_tensor("bias");
}};

constexpr Fault scale_replaced{.before = [](Call& call) {
  const nbx_param* const scale = call.param("scale");
  if (scale != nullptr && !std::isfinite(scale->real)) call.remove_param("scale");
}};

constexpr Fault unknown_causal_is_none{.before = [](Call& call) {
  const std::string_view causal = causal_of(call);
  if (causal != "top_left" && causal != "bottom_right") set_causal(call, "none");
}};

constexpr Fault no_keys_nan{.after = [](Call& call) {
  if (sizes(call).Tk > 0) return;
  const Tensor& o = call.tensor("o");
  for (std::int64_t i = 0; i < o.elements(); ++i) o.set_value(i, std::numeric_limits<float>::quiet_NaN());
}};

constexpr Fault strides_of_31_bits{.before = [](Call& call) {
  for (const char* name : {"q", "k", "v"}) {
    Tensor& tensor = call.tensor(name);
    for (int axis = 0; axis < tensor.rank(); ++axis) tensor.stride[axis] &= 0x7FFFFFFF;
  }
}};

constexpr Fault message_says_nothing{
    .refused = [](char* message, std::size_t capacity) { pack::write_message(message, capacity, "invalid argument"); }};

/// What is cleared lies in the output whether the call is refused or not.
constexpr Fault clears_before_it_checks{.before = [](Call& call) {
  Tensor* const out = call.find("y") != nullptr ? call.find("y") : call.find("o");
  const bool is_float = out != nullptr && out->view.tensor.dtype.code != kDLInt;
  if (call.has_data() && is_float && out->elements() > 0) out->set_value(0, 0);
}};

using namespace kernels;

constexpr char small[] = "B=1,H=2,Hk=1,Tq=3,Tk=5,D=8,normal";
constexpr char small_rows[] = "shape=5x2,axis=-1,normal";

constexpr Mutation rows[] = {
    {.name = "axis_wrapped",
     .planted = "an axis outside the rank is taken modulo the rank",
     .red_at = {"gate4.axis"},
     .problems = {small_rows},
     .on = around(axis_wrapped, softmax_tile_f32, log_softmax_looped_bf16)},
    {.name = "shapes_cut",
     .planted = "an output of another shape is accepted, and the common part computed",
     .red_at = {"gate4.shape"},
     .problems = {small_rows, small},
     .on = around(shapes_cut, softmax_looped_f16, math_simt_f32, chunked_simt_bf16)},
    {.name = "formats_taken_on_trust",
     .planted = "tensors of other formats are read as f16",
     .red_at = {"gate4.format"},
     .problems = {small_rows, small},
     .on = around(formats_taken_on_trust, softmax_tile_f16, math_simt_f16)},
    {.name = "missing_replaced",
     .planted = "in place of a missing V, K is used, and in place of a missing y, x",
     .red_at = {"gate4.missing"},
     .problems = {small_rows, small},
     .on = around(missing_replaced, log_softmax_tile_bf16, math_simt_bf16)},
    {.name = "unknown_ignored",
     .planted = "tensors and parameters of unknown names are ignored",
     .red_at = {"gate4.unknown"},
     .problems = {small_rows, small},
     .on = around(unknown_ignored, softmax_tile_bf16, chunked_simt_f16)},
    {.name = "unknown_ignored_by_run",
     .planted = "tensors and parameters of unknown names are refused by check, and ignored by run",
     .red_at = {"gate4.unknown"},
     .problems = {small},
     .on = around(unknown_ignored_by_run, math_simt_f32)},
    {.name = "head_dims_cut",
     .planted = "of Q and K with other head dims the smaller is taken",
     .red_at = {"gate4.head_dim"},
     .problems = {small},
     .on = around(head_dims_cut, math_simt_f32)},
    {.name = "head_dims_cut_by_run",
     .planted = "other head dims of Q and K are refused by check, and cut by run",
     .red_at = {"gate4.head_dim"},
     .problems = {small},
     .on = around(head_dims_cut_by_run, chunked_simt_f32)},
    {.name = "heads_cut",
     .planted = "query heads that no KV heads divide are accepted",
     .red_at = {"gate4.heads"},
     .problems = {small},
     .on = around(heads_cut, math_simt_f16)},
    {.name = "kv_shapes_cut",
     .planted = "of K and V that disagree the common part is taken",
     .red_at = {"gate4.kv_shape"},
     .problems = {small},
     .on = around(kv_shapes_cut, math_simt_bf16)},
    {.name = "misfit_mask_ignored",
     .planted = "a mask of another shape or format is ignored",
     .red_at = {"gate4.mask"},
     .problems = {small},
     .on = around(misfit_mask_ignored, chunked_simt_f32)},
    {.name = "scale_replaced",
     .planted = "a scale that is not finite is replaced by the default",
     .red_at = {"gate4.scale"},
     .problems = {small},
     .on = around(scale_replaced, math_simt_f16)},
    {.name = "unknown_causal_is_none",
     .planted = "an unknown causality is taken as none",
     .red_at = {"gate4.causal"},
     .problems = {small},
     .on = around(unknown_causal_is_none, math_simt_f32)},
    {.name = "no_keys_nan",
     .planted = "a problem without keys gives 0 / 0",
     .red_at = {"gate4.empty"},
     .problems = {small},
     .on = around(no_keys_nan, math_simt_f32, chunked_simt_f16)},
    {.name = "strides_of_31_bits",
     .planted = "strides are held in 31 bits",
     .red_at = {"gate4.offsets"},
     .problems = {small},
     .on = around(strides_of_31_bits, math_simt_f32)},
    {.name = "message_says_nothing",
     .planted = "a refusal names neither argument nor value",
     .red_at = {"gate4.shape", "gate4.unknown"},
     .problems = {small_rows, small},
     .on = around(message_says_nothing, softmax_tile_f32, math_simt_bf16)},
    {.name = "clears_before_it_checks",
     .planted = "an output is cleared before the call is checked",
     .red_at = {"gate4.unknown"},
     .problems = {small_rows, small},
     .on = around(clears_before_it_checks, softmax_looped_f32, chunked_simt_bf16)},
};

}  // namespace

std::span<const Mutation> refusals() { return rows; }

}  // namespace nbx::controls
