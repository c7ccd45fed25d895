#include "contracts/child/child_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <iterator>
#include <string>
#include <system_error>
#include <utility>

#include "contracts/child/executor.hpp"

extern char** environ;

namespace nbx::contracts {
namespace {

/// The pids of all children, for a signal handler: lock-free, and cleared before a pid is reaped and may be reused.
constexpr std::size_t most_children = 1024;
std::array<std::atomic<pid_t>, most_children> children{};
static_assert(std::atomic<pid_t>::is_always_lock_free);

void add_child(pid_t pid) {
  for (auto& slot : children) {
    pid_t empty = 0;
    if (slot.compare_exchange_strong(empty, pid)) return;
  }
  throw std::system_error(EAGAIN, std::generic_category(), "more than 1024 children");
}

void remove_child(pid_t pid) {
  for (auto& slot : children) {
    pid_t expected = pid;
    if (slot.compare_exchange_strong(expected, 0)) return;
  }
}

[[noreturn]] void fail(int error, const char* what) { throw std::system_error(error, std::generic_category(), what); }

void must(int error, const char* what) {
  if (error != 0) fail(error, what);
}

struct Descriptor {
  int value = -1;
  ~Descriptor() {
    if (value >= 0) close(value);
  }
};

struct SpawnSetup {
  posix_spawn_file_actions_t actions{};
  posix_spawnattr_t attributes{};

  /// In the child: `socket` and `memory_file` become number and number + 1, above all that they are here.
  SpawnSetup(int socket, int memory_file, int number) {
    must(posix_spawn_file_actions_init(&actions), "posix_spawn_file_actions_init");
    must(posix_spawnattr_init(&attributes), "posix_spawnattr_init");
    must(posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0), "addopen");
    must(posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO), "adddup2");
    must(posix_spawn_file_actions_adddup2(&actions, socket, number), "adddup2");
    must(posix_spawn_file_actions_adddup2(&actions, memory_file, number + 1), "adddup2");
    sigset_t none;
    sigemptyset(&none);
    must(posix_spawnattr_setsigmask(&attributes, &none), "setsigmask");
    must(posix_spawnattr_setpgroup(&attributes, 0), "setpgroup");
    must(posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK), "setflags");
  }
  ~SpawnSetup() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
  SpawnSetup(const SpawnSetup&) = delete;
  SpawnSetup& operator=(const SpawnSetup&) = delete;
};

int reap(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) fail(errno, "waitpid");
  }
  return status;
}

}  // namespace

void end_all_children() noexcept {
  for (auto& slot : children) {
    const pid_t pid = slot.load();
    if (pid > 0) kill(-pid, SIGKILL);
  }
}

namespace sandbox {

ChildProcess::ChildProcess(const std::filesystem::path& worker, const std::filesystem::path& pack, int memory_file) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) fail(errno, "socketpair");
  Descriptor ours{pair[0]};
  const Descriptor theirs{pair[1]};
  const int number = std::max({pair[0], pair[1], memory_file, STDERR_FILENO}) + 1;
  const SpawnSetup setup(theirs.value, memory_file, number);
  std::string words[] = {"nbx-contract", "worker", "--pack", pack.string(), "--socket", std::to_string(number)};
  char* arguments[std::size(words) + 1] = {};
  std::transform(std::begin(words), std::end(words), arguments, [](std::string& word) { return word.data(); });
  must(posix_spawn(&pid_, worker.c_str(), &setup.actions, &setup.attributes, arguments, environ), "starting a worker");
  try {
    add_child(pid_);
  } catch (const std::system_error&) {
    kill(-pid_, SIGKILL);
    reap(pid_);
    throw;
  }
  socket_ = std::exchange(ours.value, -1);
}

ChildProcess::~ChildProcess() {
  if (pid_ > 0) end();
  close(socket_);
}

bool ChildProcess::is_gone() const {
  pollfd end{socket_, POLLIN, 0};
  return poll(&end, 1, 0) > 0;  // nothing is expected from it between calls, but its end
}

int ChildProcess::end() {
  const pid_t pid = std::exchange(pid_, -1);
  kill(-pid, SIGKILL);
  // Cleared while it is a zombie at the least, so that its number is not another's yet.
  remove_child(pid);
  return reap(pid);
}

}  // namespace sandbox
}  // namespace nbx::contracts
