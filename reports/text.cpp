#include "reports/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace nbx::reports {
namespace {

constexpr std::string_view ellipsis = "…";
constexpr std::string_view replacement = "\xEF\xBF\xBD";  // U+FFFD

bool continues(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

// The byte at which code point `count` starts, or the size.
std::size_t byte_of(std::string_view text, std::size_t count) {
  std::size_t at = 0;
  for (; at < text.size() && count > 0; --count) {
    ++at;
    while (at < text.size() && continues(text[at])) ++at;
  }
  return at;
}

// The length in bytes of the well-formed code point at the start of `text`, 0 if there is none (Unicode 15, table 3-7).
std::size_t code_point_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if (!continues(text[i])) return 0;
  }
  const bool overlong = (lead == 0xE0 && byte(1) < 0xA0) || (lead == 0xF0 && byte(1) < 0x90);
  const bool surrogate = lead == 0xED && byte(1) > 0x9F;
  const bool too_large = lead == 0xF4 && byte(1) > 0x8F;
  return overlong || surrogate || too_large ? 0 : length;
}

}  // namespace

std::string grouped(std::int64_t number) {
  std::string digits = std::to_string(number);
  const std::size_t first = number < 0 ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3;) {
    at -= 3;
    digits.insert(at, 1, ',');
  }
  return digits;
}

std::string counted(std::int64_t number, std::string_view noun) {
  return fmt::format("{} {}{}", grouped(number), noun, number == 1 ? "" : "s");
}

std::string share_text(double share) {
  if (!std::isfinite(share)) return fmt::format("{}", share);
  if (share == 0) return "0";
  return share >= 100 ? grouped(std::llround(std::min(share, 9e18))) : fmt::format("{:#.2g}", share);
}

std::string duration(double seconds) {
  if (!(seconds >= 600)) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<std::int64_t>(seconds);
  return fmt::format("{} min {} s", whole / 60, whole % 60);
}

std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char byte) { return !continues(byte); }));
}

std::string left(std::string_view text, std::size_t width) {
  const std::size_t own = width_of(text);
  return std::string(text) + std::string(own < width ? width - own : 0, ' ');
}

std::string right(std::string_view text, std::size_t width) {
  const std::size_t own = width_of(text);
  return std::string(own < width ? width - own : 0, ' ') + std::string(text);
}

std::string clipped(std::string_view text, std::size_t width) {
  if (width_of(text) <= width) return std::string(text);
  if (width == 0) return {};
  return std::string(text.substr(0, byte_of(text, width - 1))) + std::string(ellipsis);
}

std::string clipped_case(std::string_view clause_and_problem, std::size_t width) {
  if (width_of(clause_and_problem) <= width) return std::string(clause_and_problem);
  const std::size_t open = clause_and_problem.find('(');
  if (open == std::string_view::npos) return clipped(clause_and_problem, width);
  const std::string_view clause = clause_and_problem.substr(0, open + 1);
  // The longest tail that starts at an axis of the problem and fits behind the clause and the ellipsis.
  for (std::size_t at = clause_and_problem.find(',', open); at != std::string_view::npos;
       at = clause_and_problem.find(',', at + 1)) {
    const std::string_view tail = clause_and_problem.substr(at);
    if (width_of(clause) + 1 + width_of(tail) <= width) {
      return std::string(clause) + std::string(ellipsis) + std::string(tail);
    }
  }
  return clipped(std::string(clause) + std::string(ellipsis) + ")", width);
}

std::vector<std::string> wrapped(std::string_view text, std::size_t width) {
  std::vector<std::string> lines;
  while (width_of(text) > width) {
    // The last blank that leaves a line short enough, else the first.
    const std::size_t end = byte_of(text, width);
    std::size_t blank = text.rfind(' ', end);
    if (blank == std::string_view::npos || blank == 0) blank = text.find(' ', end);
    if (blank == std::string_view::npos) break;
    lines.emplace_back(text.substr(0, blank));
    text.remove_prefix(blank + 1);
  }
  lines.emplace_back(text);
  return lines;
}

std::string shell_word(std::string_view text) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("-_./=:,+@%").find(c) != std::string_view::npos;
  };
  if (!text.empty() && std::all_of(text.begin(), text.end(), plain)) return std::string(text);
  std::string word = "'";
  for (const char c : text) {
    if (c == '\'') {
      word += "'\\''";
    } else {
      word += c;
    }
  }
  word += '\'';
  return word;
}

std::string joined(const std::vector<std::string>& parts, std::string_view separator) {
  return fmt::format("{}", fmt::join(parts, separator));
}

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = code_point_length(text);
    const auto lead = static_cast<unsigned char>(text[0]);
    const bool control = (lead < 0x20 && lead != '\t' && lead != '\n') || lead == 0x7F;
    // U+FFFE and U+FFFF are well-formed, and still no characters of XML.
    const bool no_character =
        length == 3 && (text.substr(0, 3) == "\xEF\xBF\xBE" || text.substr(0, 3) == "\xEF\xBF\xBF");
    const std::size_t step = std::max<std::size_t>(length, 1);
    out += length == 0 || control || no_character ? replacement : text.substr(0, step);
    text.remove_prefix(step);
  }
  return out;
}

}  // namespace nbx::reports
