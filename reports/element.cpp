#include "reports/element.hpp"

#include <fmt/format.h>

#include <cmath>

namespace nbx::reports {

void tell_element(FieldLines& lines, const contracts::PackDifference& found, const std::string& good,
                  const std::string& bad) {
  if (!found.why_not.empty()) {
    lines.field("", found.why_not);
    return;
  }
  if (found.output.empty()) {
    lines.field("", "the plain call gives the same bits");
    return;
  }
  lines.field("element", fmt::format("{} {}, the first of {} of {} that differ{}", found.output, found.index,
                                     grouped(found.differing), grouped(found.elements),
                                     found.where.empty() ? "" : ": " + found.where));
  lines.field("  " + good, fmt::format("{}   {}", found.good.number, found.good.bits));
  lines.field("  " + bad, fmt::format("{}   {}", found.bad.number, found.bad.bits));
  lines.field("", std::isnan(found.ulps)
                      ? "no distance in ulp: NaN, or no floating-point format"
                      : fmt::format("{:.0f} ulp apart here, at most {:.0f} anywhere", found.ulps, found.most_ulps));
  if (!found.no_bound.empty()) {
    lines.field("bound", "not known: " + found.no_bound);
    return;
  }
  lines.field("bound", fmt::format("{:.2g}: {} takes {} of it, {} {}; {}", found.bound, good,
                                   share_text(found.good.share), bad, share_text(found.bad.share),
                                   found.within_bound() && found.good.wrong == 0
                                       ? "every element of both stays within its bound"
                                       : fmt::format("{} of {} and {} of {} leave their bounds",
                                                     counted(found.good.wrong, "element"), good,
                                                     grouped(found.bad.wrong), bad)));
}

nlohmann::json element_json(const contracts::PackDifference& found, const std::string& problem, const std::string& good,
                            const std::string& bad) {
  if (!found.why_not.empty()) return {{"problem", problem}, {"why_not", found.why_not}};
  const auto side = [&](const contracts::ElementValue& value) {
    nlohmann::json out{{"number", value.number}, {"bits", value.bits}};
    if (found.no_bound.empty()) {
      out["share"] = share_text(value.share);
      out["wrong"] = value.wrong;
    }
    return out;
  };
  nlohmann::json out{{"problem", problem},           {"output", found.output},       {"index", found.index},
                     {"differing", found.differing}, {"elements", found.elements},   {"where", found.where},
                     {"ulps", found.ulps},           {"most_ulps", found.most_ulps}, {good, side(found.good)},
                     {bad, side(found.bad)}};
  if (found.no_bound.empty()) {
    out["bound"] = found.bound;
    out["within_bound"] = found.within_bound();
  } else {
    out["no_bound"] = found.no_bound;
  }
  return out;
}

}  // namespace nbx::reports
