// The codes that the command ends with. The first that applies counts, from the top.
#pragma once

#include "contracts/result.hpp"

namespace nbx::reports {

enum ExitCode : int {
  exit_usage = 2,
  exit_interrupted = 130,
  exit_red = 1,
  exit_harness = 3,  // the harness itself failed, or a report could not be written
  exit_nothing = 4,  // nothing was checked
  exit_ok = 0,
  exit_untestable = 125  // what --bisect-exit makes of all but 0 and 1
};

/// As `git bisect run` reads it: red stays 1, everything else that is not 0 cannot be tested.
int bisect_code(int code);

using contracts::exit_code;

}  // namespace nbx::reports
