#include "contracts/gates/declared.hpp"

#include <fmt/format.h>

#include "contracts/formats.hpp"

namespace nbx::contracts {
namespace {

// A float of 19 bits names tf32, which tensors hold in fp32 words.
std::optional<oracle::Format> operand_format(DLDataType type) {
  if (type.code == kDLFloat && type.bits == 19 && type.lanes == 1) return oracle::Format::tf32;
  return oracle_format(type);
}

struct MatrixUnit {
  std::string_view architecture;
  int group, kept_bits, exponent_floor;  // of f16 and bf16
  int tf32_group;                        // 0: no such unit
  bool bf16;
};
// Measured on an H200 (sm_90) with every element reproduced; the others from published measurements.
constexpr MatrixUnit matrix_units[] = {{"sm_70", 4, 23, -131, 0, false},  {"sm_75", 8, 24, -132, 0, false},
                                       {"sm_80", 8, 24, -132, 4, true},   {"sm_86", 8, 24, -132, 4, true},
                                       {"sm_89", 8, 24, -132, 4, true},   {"sm_90", 16, 25, -133, 8, true},
                                       {"sm_100", 16, 25, -133, 8, true}, {"sm_120", 16, 25, -133, 8, true}};

/// Fills in the unit's arithmetic. False: the architecture has no such unit.
bool matrix_unit(nbx_unit unit, std::string_view architecture, oracle::Dot& to) {
  for (const MatrixUnit& one : matrix_units) {
    if (one.architecture != architecture) continue;
    to.unit = oracle::Dot::Unit::fused_group;
    to.group = unit == NBX_M16N8K8_TF32 ? one.tf32_group : one.group;
    to.kept_bits = one.kept_bits;
    to.exponent_floor = one.exponent_floor;
    switch (unit) {
      case NBX_M16N8K16_F16:
        return true;
      case NBX_M16N8K16_BF16:
        return one.bf16;
      case NBX_M16N8K8_TF32:
        return one.tf32_group > 0;
      case NBX_M16N8K32_E4M3:  // two groups from zero, then the sum so far is added in fp32; operands pass through f16
        to.restart = 32;
        to.subnormals_as_normal = true;
        return architecture == "sm_90";
      default:
        return false;
    }
  }
  return false;
}

std::optional<oracle::Dot> dot(const nbx_dot& from, const char* name, std::string_view imitates, std::string* why) {
  oracle::Dot to;
  to.restart = from.group_keys;
  switch (from.unit) {
    case NBX_SIMT_F32:
      to.unit = oracle::Dot::Unit::simt_f32;
      break;
    case NBX_ANY_ORDER:
      to.unit = oracle::Dot::Unit::any_order;
      break;
    case NBX_M8N8K4_F16:  // exact products: four added to nearest, then the sum so far
      to.unit = oracle::Dot::Unit::grouped_f32;
      to.group = 4;
      break;
    case NBX_M8N8K4_SPLIT:
      to.unit = oracle::Dot::Unit::split_f16;
      to.group = 4;
      break;
    case NBX_M16N8K32_E4M3:
      if (from.group_keys != 0) {
        *why = fmt::format("{}: group_keys is {}; this unit adds to fp32 after every 32 terms: 0 is accepted", name,
                           from.group_keys);
        return std::nullopt;
      }
      [[fallthrough]];
    default:
      if (!matrix_unit(from.unit, imitates, to)) {
        *why = fmt::format(
            "{}: the oracle has no bound for unit {} of architecture '{}'; it has one for 0 (simt_f32), 1 (any_order), "
            "16-18 (m16n8k16 f16 and bf16, m16n8k8 tf32), 19 (m16n8k32 e4m3, sm_90), 20 (m8n8k4 f16) and 23 (m8n8k4 in "
            "two "
            "parts)",
            name, from.unit, imitates);
        return std::nullopt;
      }
  }
  const auto operand = operand_format(from.operand);
  if (!operand) {
    *why = fmt::format("{}: the oracle does not know the operand format {}", name, type_name(from.operand));
    return std::nullopt;
  }
  if (from.unit == NBX_ANY_ORDER && !(from.unit_roundoff > 0 && from.unit_roundoff < 0.5)) {
    *why = fmt::format("{}: NBX_ANY_ORDER needs a unit_roundoff between 0 and 0.5, not {}", name, from.unit_roundoff);
    return std::nullopt;
  }
  to.chains = from.chains ? static_cast<int>(from.chains) : 1;
  to.u = from.unit_roundoff;
  to.products_exact = from.products_exact != 0;
  to.operand = *operand;
  return to;
}

}  // namespace

std::optional<oracle::Arithmetic> declared(const nbx_arithmetic& from, DLDataType output, std::string_view imitates,
                                           std::string* why) {
  using A = oracle::Arithmetic;
  const auto qk = dot(from.qk, "qk", imitates, why), pv = dot(from.pv, "pv", imitates, why);
  if (!qk || !pv) return std::nullopt;
  const auto p_format = operand_format(from.p_format), out = oracle_format(output);
  if (!p_format || !out) {
    *why = fmt::format("the oracle does not know the format {}", type_name(p_format ? output : from.p_format));
    return std::nullopt;
  }
  if (from.scale_at > NBX_SCALE_QUERY || from.log2_at > NBX_EXP2_WHOLE || from.normalise > NBX_RECIPROCAL_OUTPUT ||
      from.masked_value > NBX_MASKED_PROPAGATES) {
    *why = "the declared arithmetic has a value that this interface version does not define";
    return std::nullopt;
  }
  if (!(from.exp_ulp > 0) || !(from.log_ulp >= 0) || !(from.divide_ulp > 0) || from.sum_depth < 0 ||
      from.rescales < 0 || from.merges < 0 || !(from.p_scale >= 0) || from.scale_roundings > 8 ||
      from.value_roundings > 8) {
    *why = fmt::format(
        "the declared arithmetic needs exp_ulp > 0, log_ulp >= 0, divide_ulp > 0, sum_depth >= 0, rescales >= 0, "
        "p_scale "
        ">= 0 and at most 8 scale_roundings and value_roundings, not {}, {}, {}, {}, {}, {}, {} and {}",
        from.exp_ulp, from.log_ulp, from.divide_ulp, from.sum_depth, from.rescales, from.p_scale, from.scale_roundings,
        from.value_roundings);
    return std::nullopt;
  }
  A to;
  to.qk = *qk;
  to.pv = *pv;
  to.scale_at = static_cast<A::ScaleAt>(from.scale_at);
  to.log2_at = static_cast<A::Log2At>(from.log2_at);
  to.normalise = static_cast<A::Normalise>(from.normalise);
  to.masked_value = static_cast<A::MaskedValue>(from.masked_value);
  to.p_format = *p_format;
  to.output = *out;
  to.exp_ulp = from.exp_ulp;
  to.log_ulp = from.log_ulp;
  to.divide_ulp = from.divide_ulp;
  to.sum_depth = from.sum_depth;
  to.rescales = from.rescales;
  to.flush_to_zero = from.flush_to_zero != 0;
  to.fixed_shift = from.fixed_shift != 0;
  to.merges = from.merges;
  to.p_scale = from.p_scale == 0 ? 1 : from.p_scale;
  to.scale_roundings = static_cast<int>(from.scale_roundings);
  to.value_roundings = static_cast<int>(from.value_roundings);
  return to;
}

}  // namespace nbx::contracts
