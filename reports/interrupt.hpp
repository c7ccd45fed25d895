// Ctrl-C and SIGTERM: the first asks the run to stop and ends its children, the second ends the command at once.
#pragma once

#include <atomic>

namespace nbx::reports {

/// Set once a signal came.
const std::atomic<bool>& stop_requested();

/// From here on signals stop the run. `second_code` is what a second one exits with.
void stop_on_signals(int second_code);

}  // namespace nbx::reports
