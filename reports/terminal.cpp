#include "reports/terminal.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>

#include "reports/text.hpp"

namespace nbx::reports {
namespace {

constexpr std::size_t width_elsewhere = 120;

bool is_terminal(int file) {
  const char* kind = std::getenv("TERM");
  return ::isatty(file) == 1 && kind != nullptr && std::string_view(kind) != "dumb";
}

}  // namespace

bool shows_colour(int file) {
  const char* no_colour = std::getenv("NO_COLOR");
  return is_terminal(file) && (no_colour == nullptr || *no_colour == '\0');
}

std::size_t terminal_width(int file) {
  winsize size{};
  if (::ioctl(file, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return width_elsewhere;
  return size.ws_col;
}

ProgressLine::ProgressLine() : on_(is_terminal(STDERR_FILENO)) {}

ProgressLine::~ProgressLine() {
  if (drawn_) fmt::print(stderr, "\r\x1b[K");
}

void ProgressLine::show(const contracts::Progress& progress) {
  if (!on_) return;
  show(fmt::format("{} of {}   {} red   {}", grouped(progress.done), grouped(progress.total), grouped(progress.red),
                   progress.current));
}

void ProgressLine::show(std::string_view line) {
  const std::lock_guard lock(mutex_);
  const auto now = std::chrono::steady_clock::now();
  if (!on_ || (drawn_ && now - last_ < std::chrono::milliseconds(100))) return;
  last_ = now;
  drawn_ = true;
  fmt::print(stderr, "\r{}\x1b[K", clipped("  " + printable(line), terminal_width(STDERR_FILENO) - 1));
  std::fflush(stderr);
}

}  // namespace nbx::reports
