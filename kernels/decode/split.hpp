// The first stage of decode: the partials of every segment of every row.
#pragma once

#include "kernels/decode/segment.hpp"
#include "kernels/pack/attention.hpp"

namespace nbx::decode {

/// A bias along keys, or none.
template <class T, class R>
struct Bias {
  const void* at;  // of the segment's first key; null: none
  bool in_f32;
  std::int64_t step;

  NBX_FUNCTION float operator()(float score, std::int64_t j) const {
    if (at == nullptr) return score;
    const float bias =
        in_f32 ? static_cast<const float*>(at)[j * step] : tile::decode(static_cast<const T*>(at)[j * step]);
    return R::biased(score, bias);
  }
};

/// A block is (sequence, KV head, segment, `members` query heads of the group). Strides are in elements; an axis of
/// size 1 has stride 0. Q is the format that q is stored in, T that of the caches.
template <class T, class Q, class R>
struct SplitProgram {
  static constexpr int resident_blocks = sizeof(T) == 4 ? 2 : 3;

  std::int64_t H, Hk, Tk, group, members, parts, splits, width;
  int D, Dv;
  pack::Causal causal;
  float scale;
  const Q* q;
  const T *k, *v;
  const void* bias;
  bool bias_in_f32;
  const std::int32_t* seq_lens;  // null: all Tk
  pack::Layout<4> q_at, k_at, v_at;
  std::int64_t bias_step, seq_lens_step;
  float *m, *l, *o;  // [B, H, splits], o with Dv

  std::int64_t blocks(std::int64_t B) const { return B * Hk * splits * parts; }
  std::size_t tile_bytes() const { return segment_bytes(static_cast<int>(members), static_cast<int>(width), D, Dv); }

  /// How many keys sequence b sees.
  NBX_FUNCTION std::int64_t visible(std::int64_t b) const {
    std::int64_t keys = seq_lens == nullptr ? Tk : seq_lens[b * seq_lens_step];
    keys = keys < 0 ? 0 : (keys < Tk ? keys : Tk);
    return causal == pack::Causal::top_left && keys > 1 ? 1 : keys;
  }

  template <class Block>
  NBX_DEVICE void operator()(Block& block) const {
    const std::int64_t part = block.index() % parts, split = block.index() / parts % splits;
    const std::int64_t kv_head = block.index() / parts / splits % Hk, b = block.index() / parts / splits / Hk;
    const std::int64_t first = split * width, member = part * members;
    const std::int64_t heads = group - member < members ? group - member : members;
    SegmentSizes of{};
    of.heads = static_cast<int>(heads), of.width = static_cast<int>(width);
    of.keys = static_cast<int>(R::keys(visible(b), first, width));
    of.depth = D, of.columns = Dv;
    of.q_step = q_at.stride[3], of.k_step = k_at.stride[3], of.v_step = v_at.stride[3];
    of.score_scale = scale;
    // Where heads are not consecutive, each row finds its place by itself.
    const std::int64_t row = b * H + R::head(kv_head, member, group);
    const std::int64_t between = heads > 1 ? R::head(kv_head, member + 1, group) - R::head(kv_head, member, group) : 0;
    const Partials to{m + row * splits + split,
                      l + row * splits + split,
                      o + (row * splits + split) * Dv,
                      between * splits,
                      between * splits,
                      between * splits * Dv,
                      1};
    const Q* const q_row = q + b * q_at.stride[0] + R::head(kv_head, member, group) * q_at.stride[1];
    const std::int64_t q_between = between * q_at.stride[1];
    const T* const k_row = k + b * k_at.stride[0] + kv_head * k_at.stride[1] + first * k_at.stride[2];
    const T* const v_row = v + b * v_at.stride[0] + kv_head * v_at.stride[1] + first * v_at.stride[2];
    const std::int64_t k_between = k_at.stride[2], v_between = v_at.stride[2];
    const std::int64_t bias_bytes =
        first * bias_step * static_cast<std::int64_t>(bias_in_f32 ? sizeof(float) : sizeof(T));
    const Bias<T, R> biases{bias == nullptr ? nullptr : static_cast<const std::byte*>(bias) + bias_bytes, bias_in_f32,
                            bias_step};
    segment_partials<R, T>(
        block, of, to, false, [=](std::int64_t g) { return q_row + g * q_between; },
        [=](std::int64_t j) { return k_row + j * k_between; }, [=](std::int64_t j) { return v_row + j * v_between; },
        biases);
  }
};

}  // namespace nbx::decode
