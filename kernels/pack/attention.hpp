// The family attention: q [B, H, Tq, D], k [B, Hk, Tk, D], v [B, Hk, Tk, Dv], bias broadcast from [Tq, Tk],
// [B, Tq, Tk] or [B, H, Tq, Tk], o [B, H, Tq, Dv], lse [B, H, Tq].
#pragma once

#include <cstdint>
#include <optional>

#include "kernels/pack/problem.hpp"

namespace nbx::pack {

enum class Causal : std::uint8_t { none, top_left, bottom_right };

/// A problem of the family, checked.
struct Attention {
  std::int64_t B = 0, H = 0, Hk = 0, Tq = 0, Tk = 0, D = 0, Dv = 0;
  Tensor q, k, v, o;
  std::optional<Tensor> bias, lse;
  Causal causal = Causal::none;
  float scale = 0;                                  // fp32(1 / sqrt(D)) unless given
  std::optional<Tensor> seq_lens;                   // of decode: int32 [B], keys beyond are no part of their row
  bool q_round = false;                             // of decode: q is f32, and read in the caches' format
  std::optional<Tensor> q_scale, k_scale, v_scale;  // of attention_scaled: f32 [B, H], and [B, Hk] twice

  std::int64_t group() const { return Hk == 0 ? 0 : H / Hk; }  // query heads of one KV head
};

/// What a kernel serves of the family.
struct AttentionSupport {
  DLDataType format;  // of q, k, v and o, unless scaled
  DLDeviceType device;
  bool lse = true;
  bool decode = false;  // the family decode: one query a sequence, seq_lens, q_round, a bias along keys alone
  bool scaled = false;  // the family attention_scaled: a scale for each head of q, k and v, o in bf16, a bias in f32
};

/// Reads and checks a problem; throws a Refusal. `with_data` also asks that tensors have data.
Attention read_attention(const nbx_problem& problem, const AttentionSupport& support, bool with_data);

}  // namespace nbx::pack
