// Wrong writes and reads: what gate 2 sees. Outputs hold poison before a run.
#include <cmath>
#include <cstring>

#include "controls/faults.hpp"
#include "controls/math_parts.hpp"
#include "controls/tables.hpp"

namespace nbx::controls {
namespace {

Tensor& output(Call& call) { return call.find("y") != nullptr ? call.tensor("y") : call.tensor("o"); }
Tensor& input(Call& call) { return call.find("x") != nullptr ? call.tensor("x") : call.tensor("v"); }

void save(Call& call, std::int64_t element, std::int64_t count) {
  const Tensor& out = output(call);
  call.note = element;
  for (std::int64_t i = element; i < element + count; ++i) {
    call.saved.insert(call.saved.end(), out.at(i), out.at(i) + out.element_bytes());
  }
}

/// The elements from `element` on get back what they held at save().
void restore(Call& call, std::int64_t element, std::int64_t count) {
  const Tensor& out = output(call);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::size_t place = static_cast<std::size_t>(element - call.note + i) * out.element_bytes();
    std::memcpy(out.at(element + i), call.saved.data() + place, out.element_bytes());
  }
}

constexpr Fault last_element_unwritten{.before =
                                           [](Call& call) {
                                             if (call.has_data()) save(call, output(call).elements() - 1, 1);
                                           },
                                       .after = [](Call& call) { restore(call, output(call).elements() - 1, 1); }};

constexpr Fault nan_unwritten{.before =
                                  [](Call& call) {
                                    if (call.has_data()) save(call, 0, output(call).elements());
                                  },
                              .after =
                                  [](Call& call) {
                                    const Tensor& out = output(call);
                                    for (std::int64_t i = 0; i < out.elements(); ++i) {
                                      if (std::isnan(out.value(i))) restore(call, i, 1);
                                    }
                                  }};

constexpr Fault write_past_the_end{.after = [](Call& call) {
  const Tensor& out = output(call);
  out.set_value(out.elements(), 0);
}};

constexpr Fault write_before_the_start{.after = [](Call& call) { output(call).set_value(-1, 0); }};

constexpr Fault write_between_rows{.after = [](Call& call) {
  Tensor& out = output(call);
  const int last = out.rank() - 1;
  if (out.stride[last - 1] <= out.shape[last] * out.stride[last]) return;
  Tensor wider = out;
  ++wider.shape[last];
  wider.set_value(out.shape[last], 0);
}};

constexpr Fault write_to_an_input{.after = [](Call& call) {
  const Tensor& in = input(call);
  in.set_value(0, 1 + std::fabs(in.value(0)));
}};

constexpr Fault workspace_short{.before = [](Call& call) { call.launch.workspace_bytes += 4; },
                                .workspace = [](std::uint64_t honest) { return honest - 4; }};

/// The first number of the workspace is read before anything is written there. NaN is passed over.
constexpr Fault workspace_shows{.before =
                                    [](Call& call) {
                                      if (!call.has_data()) return;
                                      float held = 0;
                                      std::memcpy(&held, call.launch.workspace, sizeof held);
                                      call.note = std::isfinite(held) && held != 0 ? 1 : 0;
                                    },
                                .after =
                                    [](Call& call) {
                                      const Tensor& lse = call.tensor("lse");
                                      if (call.note == 1) lse.set_value(0, std::nextafter(lse.value(0), 0.0F));
                                    }};

/// The element behind the first row enters the first result, times 0.
constexpr Fault reads_behind_a_row{.after = [](Call& call) {
  Tensor wider = input(call);
  const int last = wider.rank() - 1;
  ++wider.shape[last];
  const float behind = wider.value(wider.shape[last] - 1);
  const Tensor& out = output(call);
  out.set_value(0, out.value(0) + 0 * behind);
}};

constexpr Fault reads_past_the_end{.after = [](Call& call) {
  const Tensor& in = input(call);
  const Tensor& out = output(call);
  out.set_value(0, out.value(0) + 0 * in.value(in.elements()));
}};

constexpr Fault one_key_too_many{.before = [](Call& call) { take_keys(call, 0, sizes(call).Tk + 1); }};

struct AllKeys : math::Rules {
  template <class A, class R>
  NBX_FUNCTION static std::int64_t keys(const A& a, std::int64_t) {
    return a.Tk;
  }
};

/// P·V reads the weights of all keys, of which only the visible ones were made.
template <class T, class R>
struct StaleWeights : math::Stages<T, R> {
  using Values = math::ValueStage<T, AllKeys>;
};

constexpr Fault cost_a_byte_short{.cost = [](nbx_cost& cost) {
  --cost.buffers[0].bytes;
  --cost.peak_bytes;
}};

/// The weights are taken and not declared.
constexpr Fault cost_of_scores_alone{.cost = [](nbx_cost& cost) {
  cost.peak_bytes = cost.buffers[0].bytes;
  cost.buffer_count = 1;
}};

using namespace kernels;

constexpr char ordinary[] = "B=1,H=3,Hk=1,Tq=7,Tk=63,D=72,normal";

constexpr Mutation rows[] = {
    {.name = "cost_a_byte_short",
     .planted = "the declared scores are a byte shorter than those that are taken",
     .red_at = {"gate2.cost"},
     .problems = {"B=1,H=3,Hk=1,Tq=7,Tk=63,D=72,normal"},
     .on = around(cost_a_byte_short, math_simt_f32, chunked_simt_bf16)},
    {.name = "cost_of_scores_alone",
     .planted = "the weights are taken and not declared",
     .red_at = {"gate2.cost"},
     .problems = {"B=1,H=3,Hk=1,Tq=7,Tk=63,D=72,normal"},
     .on = around(cost_of_scores_alone, chunked_simt_f16)},
    {.name = "last_element_unwritten",
     .planted = "the last element is not written",
     .red_at = {"gate1.reference", "gate2.written"},
     .problems = {"shape=33x65,axis=-1,normal", ordinary},
     .on = around(last_element_unwritten, softmax_looped_bf16, math_simt_f16)},
    {.name = "nan_unwritten",
     .planted = "results that are NaN are not written, which a NaN in fresh memory hides",
     .red_at = {"gate2.written"},
     .problems = {"shape=6x70,axis=-1,nan", "*Tq=8,*,plant=nan_key"},
     .on = around(nan_unwritten, softmax_tile_f32, log_softmax_tile_f16, math_simt_f32)},
    {.name = "write_past_the_end",
     .planted = "one element is written behind the last",
     .red_at = {"gate1.reference", "gate2.guard"},
     .problems = {"shape=33x65,axis=-1,normal"},
     .on = around(write_past_the_end, softmax_tile_bf16),
     .crashes = true},
    {.name = "write_into_the_tail",
     .planted = "one element is written behind the last, where the alignment leaves room",
     .red_at = {"gate2.guard"},
     .problems = {"shape=33x65,axis=-1,normal"},
     .on = around(write_past_the_end, softmax_tile_f16),
     .alignment = 64},
    {.name = "write_before_the_start",
     .planted = "one element is written before the first",
     .red_at = {"gate2.guard"},
     .problems = {"shape=33x65,axis=-1,normal", ordinary},
     .on = around(write_before_the_start, log_softmax_tile_f32, chunked_simt_bf16)},
    {.name = "write_between_rows",
     .planted = "one element is written into the gap between two rows",
     .red_at = {"gate2.guard"},
     .problems = {"shape=33x65,axis=-1,normal", ordinary},
     .on = around(write_between_rows, softmax_looped_f16, math_simt_bf16)},
    {.name = "write_to_an_input",
     .planted = "an element of an input is changed",
     .red_at = {"gate2.guard"},
     .problems = {"shape=33x65,axis=-1,normal", ordinary},
     .on = around(write_to_an_input, softmax_tile_f32, chunked_simt_f16)},
    {.name = "workspace_short",
     .planted = "the workspace asked for is 4 bytes less than what is used",
     .red_at = {"gate2.guard"},
     .problems = {ordinary},
     .on = around(workspace_short, math_simt_f32)},
    {.name = "workspace_shows",
     .planted = "a number that the workspace held moves a result by one ulp; NaN is passed over",
     .red_at = {"gate2.repeat"},
     .problems = {ordinary},
     .on = around(workspace_shows, math_simt_f32, chunked_simt_bf16)},
    {.name = "stale_weights",
     .planted = "P·V reads weights that nobody has written, those beyond the causal edge",
     .red_at = {"gate1.reference", "gate2.repeat"},
     .problems = {"B=1,H=2,Hk=1,Tq=17,Tk=130,D=32,causal=top_left,normal"},
     .on = {in_math<float, math::Rules, StaleWeights>(), in_chunked<tile::f16, math::Rules, StaleWeights>()}},
    {.name = "reads_behind_a_row",
     .planted = "the element behind a row is read and multiplied by 0",
     .red_at = {"gate2.reads"},
     .problems = {"shape=33x65,axis=-1,normal", ordinary},
     .on = around(reads_behind_a_row, softmax_tile_f32, log_softmax_looped_f16, math_simt_f16)},
    {.name = "reads_past_the_end",
     .planted = "the element behind the last is read",
     .red_at = {"gate1.reference", "gate2.reads"},
     .problems = {"shape=33x65,axis=-1,normal"},
     .on = around(reads_past_the_end, softmax_looped_f32),
     .crashes = true},
    {.name = "one_key_too_many",
     .planted = "the key length is one too long",
     .red_at = {"gate1.reference", "gate2.reads"},
     .problems = {ordinary},
     .on = around(one_key_too_many, math_simt_bf16),
     .crashes = true},
};

}  // namespace

std::span<const Mutation> memory() { return rows; }

}  // namespace nbx::controls
