// The sizes of one attention problem and what each query row sees of it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>

#include "oracle/reference.hpp"

namespace nbx::oracle {

struct AttentionShape {
  std::int64_t B, H, Hk, Tq, Tk, D, Dv;
  std::int64_t group;                          // query heads per KV head
  double scale;                                // an fp32 number, exactly; times ln 2, rounded, where base_two
  std::int64_t bias_stride[4] = {0, 0, 0, 0};  // of B, H, Tq, Tk; 0 along broadcast axes
  const AttentionInput* input;

  explicit AttentionShape(const AttentionInput& in) : input(&in) {
    require(in.q.shape.size() == 4 && in.k.shape.size() == 4 && in.v.shape.size() == 4, "q, k and v have four axes");
    B = in.q.shape[0], H = in.q.shape[1], Tq = in.q.shape[2], D = in.q.shape[3];
    Hk = in.k.shape[1], Tk = in.k.shape[2], Dv = in.v.shape[3];
    require(
        in.k.shape[0] == B && in.v.shape[0] == B && in.v.shape[1] == Hk && in.v.shape[2] == Tk && in.k.shape[3] == D,
        "k and v agree with q and with each other");
    require(Hk > 0 ? H % Hk == 0 : H == 0, "query heads are a multiple of KV heads");
    group = Hk > 0 ? H / Hk : 0;
    for (const View* view : {&in.q, &in.k, &in.v}) require_bytes(*view);
    scale = in.scale ? static_cast<double>(*in.scale)
                     : static_cast<double>(static_cast<float>(1 / std::sqrt(static_cast<double>(D))));
    if (in.base_two) scale *= 0x1.62e42fefa39efp-1;
    require(std::isfinite(scale), "scale is finite");
    require(in.fixed_shift.empty() || (in.base_two && static_cast<std::int64_t>(in.fixed_shift.size()) == B * H * Tq),
            "one fixed shift per row, of exponents of two");
    const auto lengths = static_cast<std::int64_t>(in.lengths.size());
    require(lengths == 0 || lengths == B || lengths == B * Tq, "one length per batch entry, or per query row");
    if (in.bias) {
      require(in.bias->shape.size() == 4, "bias has four axes");
      require_bytes(*in.bias);
      const std::int64_t extents[4] = {B, H, Tq, Tk};
      std::int64_t stride = 1;
      for (int axis = 3; axis >= 0; --axis) {
        const std::int64_t extent = in.bias->shape[axis];
        require(extent == 1 || extent == extents[axis], "bias broadcasts over q and k");
        bias_stride[axis] = extent == 1 ? 0 : stride;
        stride *= extent;
      }
    }
  }

  /// Keys 0 … visible - 1 are the ones that row i of batch entry b sees; all others are hidden.
  std::int64_t visible(std::int64_t b, std::int64_t i) const {
    const std::vector<std::int64_t>& lengths = input->lengths;
    const bool per_row = static_cast<std::int64_t>(lengths.size()) != B;
    std::int64_t keys = lengths.empty() ? Tk : std::clamp<std::int64_t>(lengths[per_row ? b * Tq + i : b], 0, Tk);
    if (input->causal == Causal::top_left) keys = std::min(keys, i + 1);
    if (input->causal == Causal::bottom_right) keys = std::min(keys, std::max<std::int64_t>(0, i + Tk - Tq + 1));
    return keys;
  }
  /// The most that any row of batch entry b sees.
  std::int64_t visible(std::int64_t b) const {
    std::int64_t most = 0;
    for (std::int64_t i = 0; i < Tq; ++i) most = std::max(most, visible(b, i));
    return most;
  }

  /// Bias of row (b, h, i) at keys 0 … out.size() - 1.
  void read_bias(std::int64_t b, std::int64_t h, std::int64_t i, std::span<double> out) const {
    const std::int64_t first = b * bias_stride[0] + h * bias_stride[1] + i * bias_stride[2];
    if (bias_stride[3] != 0) {
      input->bias->read(first, out);
    } else if (!out.empty()) {
      std::ranges::fill(out, input->bias->at(first));
    }
  }

 private:
  static void require(bool holds, const char* what) {
    if (!holds) throw std::invalid_argument(std::string("attention input: ") + what);
  }
  static void require_bytes(const View& view) {
    require(static_cast<std::int64_t>(view.bytes.size()) >= view.size() * traits(view.format).bytes,
            "as many bytes as the shape says");
  }
};

}  // namespace nbx::oracle
