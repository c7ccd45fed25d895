#include "contracts/codegen/process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string_view>

extern char** environ;

namespace nbx::contracts::codegen {

Ended run_tool(const std::vector<std::string>& words, const std::filesystem::path& folder) {
  const auto check = [&](int error, const char* what) {
    if (error != 0) throw std::runtime_error(fmt::format("{}: {} failed: {}", words.at(0), what, std::strerror(error)));
  };
  int ends[2];
  check(pipe2(ends, O_CLOEXEC) == 0 ? 0 : errno, "pipe");
  posix_spawn_file_actions_t actions;
  check(posix_spawn_file_actions_init(&actions), "posix_spawn");
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
  if (!folder.empty()) posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  pid_t child = 0;
  const int error = posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (error != 0) close(ends[0]);
  check(error, "start");
  Ended ended;
  char block[4096];
  for (ssize_t n; (n = read(ends[0], block, sizeof block)) > 0 || (n < 0 && errno == EINTR);) {
    if (n > 0) ended.output.append(block, static_cast<std::size_t>(n));
  }
  close(ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  ended.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return ended;
}

std::vector<std::string> shell_words(const std::string& command) {
  constexpr std::string_view taken_within = "\"\\$`";  // what a backslash takes for itself within double quotes
  std::vector<std::string> words;
  std::string word;
  bool within = false;
  char quote = 0;
  for (std::size_t i = 0; i < command.size(); ++i) {
    const char c = command[i];
    const bool more = i + 1 < command.size();
    if (quote == '\'') {
      if (c == '\'')
        quote = 0;
      else
        word += c;
    } else if (c == '\\' && more && (quote == 0 || taken_within.find(command[i + 1]) != std::string_view::npos)) {
      word += command[++i];
      within = true;
    } else if (quote == '"') {
      if (c == '"')
        quote = 0;
      else
        word += c;
    } else if (c == '"' || c == '\'') {
      quote = c;
      within = true;
    } else if (c == ' ' || c == '\t' || c == '\n') {
      if (within) words.push_back(word);
      word.clear();
      within = false;
    } else {
      word += c;
      within = true;
    }
  }
  if (within) words.push_back(word);
  return words;
}

std::vector<std::string> prerequisites(const std::string& rule) {
  std::vector<std::string> files;
  std::string word;
  for (std::size_t i = rule.find(':') + 1; i < rule.size(); ++i) {
    const char c = rule[i];
    if (c == '\\' && i + 1 < rule.size() && rule[i + 1] == ' ') {
      word += rule[++i];
    } else if (c == ' ' || c == '\n' || c == '\\') {
      if (!word.empty()) files.push_back(word);
      word.clear();
    } else {
      word += c;
    }
  }
  if (!word.empty()) files.push_back(word);
  return files;
}

}  // namespace nbx::contracts::codegen
