#include "reports/write_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <system_error>

namespace nbx::reports {
namespace {

namespace fs = std::filesystem;

std::string reason(int error) { return std::generic_category().message(error); }

// Writes all of it and closes, or says why not.
std::string write_to(const fs::path& path, std::string_view text, int flags) {
  const int file = ::open(path.c_str(), flags | O_WRONLY | O_CLOEXEC, 0666);
  if (file < 0) return reason(errno);
  int error = 0;
  while (!text.empty() && error == 0) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno != EINTR) {
      error = errno;
    }
  }
  if (::close(file) != 0 && error == 0) error = errno;  // a full disk may show only here
  return error == 0 ? "" : reason(error);
}

std::string write_and_rename(const fs::path& target, std::string_view text) {
  fs::path temporary = target;
  temporary += ".tmp" + std::to_string(::getpid());
  std::string error = write_to(temporary, text, O_CREAT | O_TRUNC);
  if (error.empty() && std::rename(temporary.c_str(), target.c_str()) != 0) error = reason(errno);
  if (!error.empty()) ::unlink(temporary.c_str());
  return error;
}

}  // namespace

std::string write_file(const fs::path& path, std::string_view text) {
  std::error_code unknown;
  const fs::file_status status = fs::status(path, unknown);
  std::string error;
  if (fs::is_directory(status)) {
    error = "it is a folder";
  } else if (!fs::exists(status)) {
    const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
    error = fs::is_directory(folder, unknown) ? write_and_rename(path, text) : "its folder does not exist";
  } else if (!fs::is_regular_file(status)) {
    error = write_to(path, text, 0);
  } else {
    // A link stays one: what it points to is replaced.
    const fs::path target = fs::canonical(path, unknown);
    error = unknown ? unknown.message() : write_and_rename(target, text);
  }
  return error.empty() ? "" : "cannot write " + path.string() + ": " + error;
}

bool wrote_report(const std::string& file, std::string_view text) {
  const std::string why_not = file.empty() ? "" : write_file(file, text);
  if (!why_not.empty()) std::fprintf(stderr, "nbx-contract: %s\n", why_not.c_str());
  return why_not.empty();
}

std::string read_file(const fs::path& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) throw std::runtime_error("it is a folder");
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(errno == 0 ? "cannot be opened" : reason(errno));
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (file.bad()) throw std::runtime_error("cannot be read");
  return text;
}

}  // namespace nbx::reports
