// Colour, where the reader's terminal shows it. Text is padded before it is painted, so that widths stay right.
#pragma once

#include <string>
#include <string_view>

namespace nbx::reports {

struct Paint {
  bool colour = false;

  std::string good(std::string_view text) const { return in("32", text); }
  std::string bad(std::string_view text) const { return in("1;31", text); }
  std::string warn(std::string_view text) const { return in("33", text); }
  std::string strong(std::string_view text) const { return in("1", text); }

 private:
  std::string in(std::string_view code, std::string_view text) const {
    if (!colour) return std::string(text);
    return "\x1b[" + std::string(code) + "m" + std::string(text) + "\x1b[0m";
  }
};

}  // namespace nbx::reports
