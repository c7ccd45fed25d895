// flash.mma.e4m3: queries, keys and values in e4m3 with an fp32 scale for each head of each, O in bf16.
#pragma once

#include "kernels/flash/matrix.hpp"

namespace nbx::flash {

/// Scales q_scale (B, H), k_scale and v_scale (B, Hk).
struct ScaledOperands : math::Operands<tile::e4m3, tile::bf16> {
  const float *q_scale, *k_scale, *v_scale;
  pack::Layout<2> q_scale_at, k_scale_at, v_scale_at;
};

/// Both products on m16n8k32. Scores are multiplied by (q_scale · k_scale) · scale. Weights, at most 1, are narrowed as
/// 256 times themselves: below the largest number, 448, and down to 2^-17 without loss. O is multiplied by v_scale /
/// 256 and then divided.
struct ScaledRules : MatrixRules<unit::M16N8K32E4M3, tile::e4m3> {
  template <class T>
  using Arguments = ScaledOperands;
  static constexpr bool scaled = true;
  static constexpr std::int64_t most_keys = 8'192;  // a weight has 4 bits: see MatrixRules
  static constexpr float weight_scale = 256.0F;

  static void declare(nbx_arithmetic& out, std::int64_t keys, std::int64_t width) {
    MatrixRules::declare(out, keys, width);
    out.p_scale = weight_scale;
    out.scale_roundings = 2;
    out.value_roundings = 1;
  }

  /// Another architecture's unit gives other bits, or is none.
  template <class R>
  static void require(const pack::Attention& a) {
#if defined(__CUDACC__)
    int device = 0, major = 0;
    pack::launched("the device's architecture",
                   cudaGetDevice(&device) == cudaSuccess &&
                           cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess
                       ? nullptr
                       : "not told");
    const std::string here = "compute capability " + std::to_string(major);
    const bool known = major == 9;
#else
    const std::string here(unit::imitated().name);
    const bool known = Unit::known(unit::imitated()).group.length != 0;
#endif
    if (!known) pack::refuse(NBX_UNSUPPORTED, "q", "e4m3 on " + here, "the e4m3 unit of sm_90, whose bits are known");
    MatrixRules::require<R>(a);
  }

  template <class T>
  NBX_FUNCTION static float narrowed(float weight) {
    return tile::narrow<tile::e4m3>(weight * weight_scale);
  }
  NBX_FUNCTION static float head_scale(const ScaledOperands& a, std::int64_t b, std::int64_t head,
                                       std::int64_t kv_head) {
    return a.q_scale[b * a.q_scale_at.stride[0] + head * a.q_scale_at.stride[1]] *
           a.k_scale[b * a.k_scale_at.stride[0] + kv_head * a.k_scale_at.stride[1]] * a.scale;
  }
  NBX_FUNCTION static float value_scale(const ScaledOperands& a, std::int64_t b, std::int64_t kv_head) {
    return a.v_scale[b * a.v_scale_at.stride[0] + kv_head * a.v_scale_at.stride[1]] * (1.0F / weight_scale);
  }
  NBX_FUNCTION static float scaled_sum(float o, float value_scale) { return o * value_scale; }

  static void take_scales(const pack::Attention& a, ScaledOperands& to) {
    to.q_scale = a.q_scale->as<const float>(), to.q_scale_at = pack::layout<2>(*a.q_scale);
    to.k_scale = a.k_scale->as<const float>(), to.k_scale_at = pack::layout<2>(*a.k_scale);
    to.v_scale = a.v_scale->as<const float>(), to.v_scale_at = pack::layout<2>(*a.v_scale);
  }
};

/// flash.mma.e4m3 without its promises.
template <class R = ScaledRules>
using ScaledCommon = MatrixCommon<tile::e4m3, unit::M16N8K32E4M3, tile::e4m3, R>;

}  // namespace nbx::flash
