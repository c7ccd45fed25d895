// Processes of this project's own that can be ended at any moment.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>

namespace nbx::contracts::sandbox {

/// `worker worker --pack FILE --socket N`, in a process group of its own: descriptor N is the other end of socket(),
/// N + 1 is `memory_file`. Its standard output goes to ours for errors, so that what a pack prints stays out of
/// reports.
class ChildProcess {
 public:
  /// Throws std::system_error where it cannot be started.
  ChildProcess(const std::filesystem::path& worker, const std::filesystem::path& pack, int memory_file);
  ~ChildProcess();  // ends it
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  int socket() const { return socket_; }
  /// It has closed its end.
  bool is_gone() const;
  /// Kills the group and returns what waitpid says: how it had ended, where it had.
  int end();

 private:
  pid_t pid_ = -1;
  int socket_ = -1;
};

}  // namespace nbx::contracts::sandbox
