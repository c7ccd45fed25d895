#include "contracts/child/crash_note.hpp"

#include <fmt/format.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <iterator>
#include <vector>

namespace nbx::contracts::sandbox {
namespace {

std::atomic<Note*> the_note{nullptr};

std::uint32_t access_of(int signal, const void* context) {
#if defined(__x86_64__)
  if (signal == SIGSEGV || signal == SIGBUS) {
    constexpr greg_t write_bit = 2;  // of the page fault's error code
    const auto* user = static_cast<const ucontext_t*>(context);
    return (user->uc_mcontext.gregs[REG_ERR] & write_bit) != 0 ? 2 : 1;
  }
#else
  static_cast<void>(signal);
  static_cast<void>(context);
#endif
  return 0;
}

void leave_note(int signal, siginfo_t* info, void* context) {
  Note* const note = the_note.load();
  if (note != nullptr && note->signal.load() == 0) {  // the first thread to crash tells
    // The kernel gives no address for one outside the address space.
    const bool known = info->si_code != SI_KERNEL;
    note->address.store(known ? reinterpret_cast<std::uintptr_t>(info->si_addr) : ~std::uintptr_t{0});
    note->access.store(known ? access_of(signal, context) : 0);
    note->signal.store(static_cast<std::uint32_t>(signal));
  }
  _exit(128 + signal);
}

std::string signal_name(int signal) {
  const char* const known = sigabbrev_np(signal);
  return known != nullptr ? fmt::format("SIG{}", known) : fmt::format("signal {}", signal);
}

/// The fault's place in the words of the nearest storage whose surroundings hold it; empty where none does.
std::string place(const Note& note, std::uint64_t address) {
  const std::uint32_t count = std::min(note.zones.load(), static_cast<std::uint32_t>(std::size(note.zone)));
  for (std::uint32_t i = 0; i < count; ++i) {
    const Zone& zone = note.zone[i];
    if (address < zone.first || address >= zone.last) continue;
    const std::string tensor(zone.name, strnlen(zone.name, sizeof zone.name));
    if (address >= zone.storage_end) {
      return fmt::format("past the end of {}, at its end + {} bytes", tensor, address - zone.storage_end);
    }
    if (address < zone.storage) {
      return fmt::format("before the start of {}, at its start - {} bytes", tensor, zone.storage - address);
    }
    return fmt::format("of {}, at its start + {} bytes", tensor, address - zone.storage);
  }
  return {};
}

}  // namespace

void catch_crashes(Note& note) {
  the_note.store(&note);
  static std::vector<char> stack(64 << 10);  // its own, for a stack that overflowed
  stack_t alternative{};
  alternative.ss_sp = stack.data();
  alternative.ss_size = stack.size();
  sigaltstack(&alternative, nullptr);
  struct sigaction action {};
  action.sa_sigaction = leave_note;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) sigaction(signal, &action, nullptr);
}

std::string describe_end(const Note& note, int wait_status) {
  const char* const where = name(note.stage.load());
  const int signal = static_cast<int>(note.signal.load());
  if (signal == 0) {
    if (WIFSIGNALED(wait_status)) return fmt::format("ended by {} in {}", signal_name(WTERMSIG(wait_status)), where);
    return fmt::format("the process ended in {} with exit code {}", where, WEXITSTATUS(wait_status));
  }
  const std::string head = fmt::format("{} in {}", signal_name(signal), where);
  if (signal != SIGSEGV && signal != SIGBUS) return head;
  const std::uint32_t access = note.access.load();
  const char* const verb = access == 2 ? "write" : access == 1 ? "read" : "access";
  const std::uint64_t address = note.address.load();
  if (address == ~std::uint64_t{0}) return fmt::format("{}: access outside the address space", head);
  const std::string found = place(note, address);
  if (!found.empty()) return fmt::format("{}: {} {}", head, verb, found);
  return fmt::format("{}: {} at address {:#x}", head, verb, address);
}

}  // namespace nbx::contracts::sandbox
