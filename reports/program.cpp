#include "reports/program.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

namespace nbx::reports {
namespace {

namespace fs = std::filesystem;

std::string read_to_end(int file) {
  std::string text;
  char buffer[1 << 16];
  for (;;) {
    const ssize_t count = ::read(file, buffer, sizeof buffer);
    if (count > 0) {
      text.append(buffer, static_cast<std::size_t>(count));
    } else if (count == 0 || errno != EINTR) {
      return text;
    }
  }
}

int exit_code_of(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) throw std::runtime_error(std::string("waitpid: ") + std::strerror(errno));
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

Finished run_program(const std::vector<std::string>& words, const ProgramOptions& options) {
  std::vector<std::string> copies = words;
  std::vector<char*> arguments;
  for (std::string& word : copies) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error(std::string("pipe: ") + std::strerror(errno));
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&files, ends[1], 1);
  if (options.both) {
    ::posix_spawn_file_actions_adddup2(&files, ends[1], 2);
  } else {
    ::posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
  }
  if (!options.folder.empty()) ::posix_spawn_file_actions_addchdir_np(&files, options.folder.c_str());
  pid_t child = -1;
  const int error = ::posix_spawnp(&child, arguments[0], &files, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&files);
  ::close(ends[1]);
  Finished finished;
  if (error == 0) {
    finished.output = read_to_end(ends[0]);
    finished.code = exit_code_of(child);
  } else {
    finished = {127, words.at(0) + ": " + std::strerror(error)};
  }
  ::close(ends[0]);
  return finished;
}

std::filesystem::path find_program(const std::string& word) {
  const auto runs = [](const fs::path& file) { return fs::is_regular_file(file) && ::access(file.c_str(), X_OK) == 0; };
  if (word.find('/') != std::string::npos) return runs(word) ? fs::path(word) : fs::path();
  const char* const variable = std::getenv("PATH");
  const std::string folders = variable != nullptr ? variable : "/usr/bin:/bin";
  for (std::size_t start = 0; start <= folders.size();) {
    const std::size_t end = std::min(folders.find(':', start), folders.size());
    const fs::path file = fs::path(folders.substr(start, end - start)) / word;
    if (runs(file)) return file;
    start = end + 1;
  }
  return {};
}

}  // namespace nbx::reports
