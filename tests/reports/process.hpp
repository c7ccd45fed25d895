// Other programs, as a test calls them.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

namespace nbx::reports {

/// An empty folder that goes with its owner.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

struct Ended {
  int code = -1;  // 128 + the signal where it died by one
  std::string out, err;
};

/// A program started with words, its standard output and error kept.
class Process {
 public:
  /// `environment` adds to the test's own, as "NAME=value".
  Process(const std::vector<std::string>& words, const std::vector<std::string>& environment);
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  void signal(int number) const;
  Ended wait();

 private:
  TemporaryFolder folder_;
  pid_t pid_ = -1;
};

inline Ended call(const std::vector<std::string>& words, const std::vector<std::string>& environment = {}) {
  return Process(words, environment).wait();
}

}  // namespace nbx::reports
