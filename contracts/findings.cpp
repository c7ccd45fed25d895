// The registered findings. Add one: a row here, and both problems in the family's table.
#include "contracts/findings.hpp"

#include "contracts/pattern.hpp"

namespace nbx::contracts {
namespace {

constexpr Finding table[] = {
    {.id = "math.published.nan_key",
     .kernel = "math.published.*",
     .clause = "gate1.reference",
     .problem = "B=1,H=2,Hk=1,Tq=8,Tk=70,D=32,normal,plant=nan_key",
     .without = "B=1,H=2,Hk=1,Tq=8,Tk=70,D=32,normal",
     .reason = "every NaN of P becomes 0, so a NaN in a visible key leaves its rows finite"},
};

}  // namespace

std::span<const Finding> findings() { return table; }

const Finding* finding_for(std::string_view kernel, std::string_view clause, std::string_view problem) {
  for (const Finding& finding : table)
    if (selects(finding.kernel, kernel) && finding.clause == clause && finding.problem == problem) return &finding;
  return nullptr;
}

}  // namespace nbx::contracts
