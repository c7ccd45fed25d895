// What the command knows of the terminal that it writes to, if it is one.
#pragma once

#include <chrono>
#include <cstddef>
#include <mutex>
#include <string_view>

#include "contracts/runner.hpp"

namespace nbx::reports {

/// `file` is 1 or 2. Colour: only on a terminal that is not dumb, and unless NO_COLOR is set and not empty.
bool shows_colour(int file);

/// Its columns; 120 where it is no terminal or does not say.
std::size_t terminal_width(int file);

/// One line on standard error, rewritten in place, and only where that is a terminal.
class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine();  // wipes the line
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(const contracts::Progress& progress);
  /// Any thread may call it.
  void show(std::string_view line);

 private:
  std::mutex mutex_;
  bool on_ = false, drawn_ = false;
  std::chrono::steady_clock::time_point last_{};
};

}  // namespace nbx::reports
