#include "reports/interrupt.hpp"

#include <signal.h>
#include <unistd.h>

#include "contracts/child/executor.hpp"

namespace nbx::reports {
namespace {

std::atomic<bool> stop{false};
std::atomic<int> code_at_second{130};
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free, "used by a handler");

extern "C" void on_signal(int) {
  const bool second = stop.exchange(true);
  contracts::end_all_children();
  if (second) ::_exit(code_at_second.load());
}

}  // namespace

const std::atomic<bool>& stop_requested() { return stop; }

void stop_on_signals(int second_code) {
  code_at_second = second_code;
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  ::sigemptyset(&action.sa_mask);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before {};
    // nohup and a shell's background jobs ignore a signal on purpose.
    if (::sigaction(signal, nullptr, &before) == 0 && before.sa_handler == SIG_IGN) continue;
    ::sigaction(signal, &action, nullptr);
  }
}

}  // namespace nbx::reports
