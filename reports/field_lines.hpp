// Text of lines, some of which are a label and a value that is broken at blanks.
#pragma once

#include <cstddef>
#include <string>

#include "reports/text.hpp"

namespace nbx::reports {

class FieldLines {
 public:
  explicit FieldLines(std::size_t width) : width_(width) {}

  void line(const std::string& text) { out += text + "\n"; }
  void field(const std::string& label, const std::string& value) {
    bool first = true;
    for (const std::string& part : wrapped(value, width_ - label_width - 4)) {
      line("    " + left(first ? label : "", label_width) + part);
      first = false;
    }
  }
  std::string out;

 private:
  static constexpr std::size_t label_width = 12;
  std::size_t width_;
};

}  // namespace nbx::reports
