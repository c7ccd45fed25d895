// The clauses of all gates. A clause stands in its gate's file: a row of that file's table, with its judge above.
#include <algorithm>

#include "contracts/gates/clause.hpp"

namespace nbx::contracts {

std::span<const Clause> clauses() {
  static const std::vector<Clause> all = [] {
    std::vector<Clause> list;
    for (const auto& gate : {gate1_clauses(), gate2_clauses(), gate3_clauses()})
      list.insert(list.end(), gate.begin(), gate.end());
    return list;
  }();
  return all;
}

bool always(const KernelInfo&, const PackInfo&) { return true; }

bool promises(const KernelInfo& kernel, std::string_view clause) {
  return std::any_of(kernel.equalities.begin(), kernel.equalities.end(), [&](const EqualityInfo& equality) {
    return equality.clause == clause && equality.reason.empty();
  });
}

}  // namespace nbx::contracts
