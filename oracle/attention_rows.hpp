// The sizes of an attention problem, and which keys a row sees. For refinement and mutants; the double and the plain
// reference each derive this by themselves.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "oracle/reference.hpp"

namespace nbx::oracle {

struct AttentionSizes {
  std::int64_t B, H, Hk, Tq, Tk, D, Dv;
  std::int64_t rows() const { return B * H * Tq; }
};

inline AttentionSizes sizes_of(const AttentionInput& input) {
  return {.B = input.q.shape[0],
          .H = input.q.shape[1],
          .Hk = input.k.shape[1],
          .Tq = input.q.shape[2],
          .Tk = input.k.shape[2],
          .D = input.q.shape[3],
          .Dv = input.v.shape[3]};
}

/// fp32, exact as a double. Absent: fp32(1 / √D).
inline double scale_of(const AttentionInput& input) {
  return input.scale.has_value() ? *input.scale
                                 : static_cast<float>(1 / std::sqrt(static_cast<double>(input.q.shape[3])));
}

/// Lengths are given per batch entry, or per query row.
inline std::int64_t length_of(const AttentionInput& input, std::int64_t b, std::int64_t i) {
  const std::int64_t Tq = input.q.shape[2], Tk = input.k.shape[2];
  if (input.lengths.empty()) return Tk;
  const bool per_row = static_cast<std::int64_t>(input.lengths.size()) != input.q.shape[0];
  return std::min(input.lengths[per_row ? b * Tq + i : b], Tk);
}

/// Row i of batch entry b sees keys 0 … visible_keys - 1 (a bias of -inf may still take some out).
inline std::int64_t visible_keys(const AttentionInput& input, std::int64_t b, std::int64_t i) {
  const std::int64_t Tq = input.q.shape[2], Tk = input.k.shape[2];
  std::int64_t end = length_of(input, b, i);
  if (input.causal == Causal::top_left) end = std::min(end, i + 1);
  if (input.causal == Causal::bottom_right) end = std::min(end, i + Tk - Tq + 1);
  return std::max<std::int64_t>(end, 0);
}

/// The KV head of query head h.
inline std::int64_t kv_head(const AttentionSizes& shape, std::int64_t h) { return h / (shape.H / shape.Hk); }

/// Where the bias [1|B, 1|H, 1|Tq, 1|Tk] holds what applies to key 0, and the step to the next key.
struct BiasRow {
  std::int64_t start = 0, step = 0;
};
inline BiasRow bias_row(const View& bias, std::int64_t b, std::int64_t h, std::int64_t i) {
  const auto along = [&](int axis, std::int64_t index) { return bias.shape[axis] == 1 ? 0 : index; };
  const std::int64_t row = (along(0, b) * bias.shape[1] + along(1, h)) * bias.shape[2] + along(2, i);
  return {.start = row * bias.shape[3], .step = bias.shape[3] == 1 ? 0 : 1};
}

}  // namespace nbx::oracle
