#include "kernels/pack/attention.hpp"

#include "kernels/pack/require.hpp"

namespace nbx::pack {
namespace {

/// Each axis of the bias is broadcast (1) or has the size of the scores' axis.
void require_bias_shape(const Tensor& bias, const Attention& a) {
  const std::int64_t full[4] = {a.B, a.H, a.Tq, a.Tk};
  // Rank 3 is [B, Tq, Tk]: its first axis is the scores' first, not the second.
  const std::int64_t by_batch[3] = {a.B, a.Tq, a.Tk};
  const std::int64_t* const expected = bias.rank == 3 ? by_batch : full + (4 - bias.rank);
  for (int axis = 0; axis < bias.rank; ++axis) {
    const std::int64_t size = bias.shape[axis];
    if (size == expected[axis] || size == 1) continue;
    refuse(NBX_INVALID, bias.name,
           "size " + text(size) + " of axis " + std::to_string(axis) + " in " + text(bias.shape, bias.rank),
           "1 or " + text(expected[axis]) + ", broadcast to " + text(expected, bias.rank));
  }
}

Causal read_causal(const Problem& given) {
  const std::string_view word = given.word("causal").value_or("none");
  if (word == "none") return Causal::none;
  if (word == "top_left") return Causal::top_left;
  if (word == "bottom_right") return Causal::bottom_right;
  refuse(NBX_INVALID, "causal", word, "none, top_left or bottom_right");
}

/// What decode has beside attention.
void read_decode(const Problem& given, Attention& a) {
  a.seq_lens = given.tensor({"seq_lens", NBX_IN, 1, 1, true});
  if (a.seq_lens) require_type(*a.seq_lens, {int32_type});
  const std::int64_t q_round = given.integer("q_round").value_or(0);
  if (q_round != 0 && q_round != 1) refuse(NBX_INVALID, "q_round", text(q_round), "0 or 1");
  a.q_round = q_round == 1;
}

void require_decode_shapes(const Attention& a) {
  if (a.Tq != 1) {
    refuse(NBX_INVALID, a.q.name, "queries " + text(a.Tq) + " in " + text(a.q.shape, 4), "1: one query a sequence");
  }
  if (a.seq_lens) require_size(*a.seq_lens, 0, "sequences", a.B, "the batch of q");
  if (!a.bias) return;
  for (int axis = 0; axis + 1 < a.bias->rank; ++axis) {
    if (a.bias->shape[axis] == 1) continue;
    refuse(NBX_INVALID, a.bias->name,
           "size " + text(a.bias->shape[axis]) + " of axis " + std::to_string(axis) + " in " +
               text(a.bias->shape, a.bias->rank),
           "1: all axes but that of the keys");
  }
}

/// What attention_scaled has beside attention.
void read_scales(const Problem& given, Attention& a) {
  const auto read = [&](const char* name, std::int64_t heads, const char* of) {
    const Tensor scale = *given.tensor({name, NBX_IN, 2, 2});
    require_type(scale, {f32_type});
    require_size(scale, 0, "batch", a.B, "the batch of q");
    require_size(scale, 1, "heads", heads, of);
    return scale;
  };
  a.q_scale = read("q_scale", a.H, "the heads of q");
  a.k_scale = read("k_scale", a.Hk, "the KV heads of k");
  a.v_scale = read("v_scale", a.Hk, "the KV heads of v");
}

}  // namespace

Attention read_attention(const nbx_problem& problem, const AttentionSupport& support, bool with_data) {
  const char* const family = support.decode ? "decode" : support.scaled ? "attention_scaled" : "attention";
  const Problem given(problem, family, support.device);
  if (support.decode) {
    given.know({"q", "k", "v", "bias", "seq_lens", "o", "lse"}, {"causal", "scale", "q_round"});
  } else if (support.scaled) {
    given.know({"q", "k", "v", "q_scale", "k_scale", "v_scale", "bias", "o", "lse"}, {"causal", "scale"});
  } else if (support.lse) {
    given.know({"q", "k", "v", "bias", "o", "lse"}, {"causal", "scale"});
  } else {
    given.know({"q", "k", "v", "bias", "o"}, {"causal", "scale"});
  }

  Attention a;
  a.q = *given.tensor({"q", NBX_IN, 4, 4});
  a.k = *given.tensor({"k", NBX_IN, 4, 4});
  a.v = *given.tensor({"v", NBX_IN, 4, 4});
  a.o = *given.tensor({"o", NBX_OUT, 4, 4});
  a.bias = given.tensor({"bias", NBX_IN, 2, 4, true});
  if (support.lse) a.lse = given.tensor({"lse", NBX_OUT, 3, 3, true});
  if (support.decode) read_decode(given, a);
  require_type(a.q, {a.q_round ? f32_type : support.format});
  for (const Tensor* tensor : {&a.k, &a.v}) require_type(*tensor, {support.format});
  require_type(a.o, {support.scaled ? bf16_type : support.format});
  if (a.bias) require_type(*a.bias, {f32_type, support.scaled ? f32_type : support.format});
  if (a.lse) require_type(*a.lse, {f32_type});

  a.B = a.q.shape[0], a.H = a.q.shape[1], a.Tq = a.q.shape[2], a.D = a.q.shape[3];
  a.Hk = a.k.shape[1], a.Tk = a.k.shape[2], a.Dv = a.v.shape[3];
  if (a.D < 1) refuse(NBX_INVALID, "q", "head dim 0", "at least 1");
  if (a.Dv < 1) refuse(NBX_INVALID, "v", "head dim 0", "at least 1");
  require_size(a.k, 3, "head dim", a.D, "the head dim of q");
  require_size(a.k, 0, "batch", a.B, "the batch of q");
  require_heads(a.k, a.H);
  require_size(a.v, 0, "batch", a.B, "the batch of k");
  require_size(a.v, 1, "KV heads", a.Hk, "the KV heads of k");
  require_size(a.v, 2, "keys", a.Tk, "the keys of k");
  require_size(a.o, 0, "batch", a.B, "the batch of q");
  require_size(a.o, 1, "heads", a.H, "the heads of q");
  require_size(a.o, 2, "queries", a.Tq, "the queries of q");
  require_size(a.o, 3, "head dim", a.Dv, "the head dim of v");
  if (a.lse) {
    require_size(*a.lse, 0, "batch", a.B, "the batch of q");
    require_size(*a.lse, 1, "heads", a.H, "the heads of q");
    require_size(*a.lse, 2, "queries", a.Tq, "the queries of q");
  }
  if (a.bias) require_bias_shape(*a.bias, a);
  if (support.decode) require_decode_shapes(a);
  if (support.scaled) read_scales(given, a);
  a.causal = read_causal(given);
  a.scale = read_scale(given, a.D);
  if (with_data) given.require_data();
  return a;
}

}  // namespace nbx::pack
