#include "contracts/gates/declared.hpp"

#include <fmt/format.h>

#include "contracts/formats.hpp"

namespace nbx::contracts {
namespace {

std::optional<oracle::Dot> dot(const nbx_dot& from, const char* name, std::string* why) {
  oracle::Dot to;
  switch (from.unit) {
    case NBX_SIMT_F32:
      to.unit = oracle::Dot::Unit::simt_f32;
      break;
    case NBX_ANY_ORDER:
      to.unit = oracle::Dot::Unit::any_order;
      break;
    default:
      *why = fmt::format("{}: the oracle has no bound for unit {}; it has one for 0 (simt_f32) and 1 (any_order)", name,
                         from.unit);
      return std::nullopt;
  }
  const auto operand = oracle_format(from.operand);
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
  to.restart = from.group_keys;
  return to;
}

}  // namespace

std::optional<oracle::Arithmetic> declared(const nbx_arithmetic& from, DLDataType output, std::string* why) {
  using A = oracle::Arithmetic;
  const auto qk = dot(from.qk, "qk", why), pv = dot(from.pv, "pv", why);
  if (!qk || !pv) return std::nullopt;
  const auto p_format = oracle_format(from.p_format), out = oracle_format(output);
  if (!p_format || !out) {
    *why = fmt::format("the oracle does not know the format {}", type_name(p_format ? output : from.p_format));
    return std::nullopt;
  }
  if (from.scale_at > NBX_SCALE_QUERY || from.log2_at > NBX_EXP2_SCORE || from.normalise > NBX_RECIPROCAL_OUTPUT ||
      from.masked_value > NBX_MASKED_PROPAGATES) {
    *why = "the declared arithmetic has a value that this interface version does not define";
    return std::nullopt;
  }
  if (!(from.exp_ulp > 0) || !(from.log_ulp >= 0) || !(from.divide_ulp > 0) || from.sum_depth < 0 ||
      from.rescales < 0) {
    *why = fmt::format(
        "the declared arithmetic needs exp_ulp > 0, log_ulp >= 0, divide_ulp > 0, sum_depth >= 0 and "
        "rescales >= 0, not {}, {}, {}, {} and {}",
        from.exp_ulp, from.log_ulp, from.divide_ulp, from.sum_depth, from.rescales);
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
  return to;
}

}  // namespace nbx::contracts
