#include "reports/exit_code.hpp"

#include "reports/tally.hpp"

namespace nbx::reports {

int bisect_code(int code) { return code == exit_ok || code == exit_red ? code : exit_untestable; }

}  // namespace nbx::reports

namespace nbx::contracts {

int exit_code(const RunResult& result, bool strict) {
  using namespace nbx::reports;
  const Tally tally = reports::tally(result);
  if (result.interrupted) return exit_interrupted;
  if (tally.red() || (strict && tally.skipped() > 0)) return exit_red;
  if (!result.harness_errors.empty()) return exit_harness;
  if (!tally.checked || !result.unmatched.empty()) return exit_nothing;
  return exit_ok;
}

}  // namespace nbx::contracts
