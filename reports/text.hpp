// Numbers and names as a person reads them. Text is UTF-8; widths count code points.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace nbx::reports {

/// 66560 is "66,560".
std::string grouped(std::int64_t number);

/// "1 case", "412 cases".
std::string counted(std::int64_t number, std::string_view noun);

/// A share of a bound, to two digits: "0.31", "0.0041", "1.0", "inf".
std::string share_text(double share);

/// "0.4 s", "75.0 s", "12 min 5 s".
std::string duration(double seconds);

std::size_t width_of(std::string_view text);

/// Padded with blanks to `width`; longer text stays as it is.
std::string left(std::string_view text, std::size_t width);
std::string right(std::string_view text, std::size_t width);

/// At most `width` wide, cut at the end with "…".
std::string clipped(std::string_view text, std::size_t width);

/// `clause(problem)` at most `width` wide: what is left out is the start of the problem, "gate1.reference(…,sink)".
std::string clipped_case(std::string_view clause_and_problem, std::size_t width);

/// Lines at most `width` wide, broken at blanks; a longer word stands on a line of its own. Never empty.
std::vector<std::string> wrapped(std::string_view text, std::size_t width);

/// One word for a shell.
std::string shell_word(std::string_view text);

std::string joined(const std::vector<std::string>& parts, std::string_view separator);

/// Valid UTF-8: each byte that is not part of a code point becomes U+FFFD, and so does each control character but tab
/// and line feed.
std::string printable(std::string_view text);

}  // namespace nbx::reports
