// A red case as text: everything that the runner found out about it, and the command that repeats it.
#pragma once

#include <string>

#include "contracts/result.hpp"
#include "reports/paint.hpp"

namespace nbx::reports {

constexpr std::size_t no_limit = static_cast<std::size_t>(-1);

/// Labels and text in two columns, indented by two. Text that makes a line wider than `width` goes on below itself.
std::string labelled(const std::vector<std::pair<std::string, std::string>>& lines, std::size_t width = no_limit);

/// The block of one case that carries a Red: a heading, the case, its lines, the command. Ends with a line feed.
std::string red_text(const contracts::CaseResult& one, const Paint& paint);

/// One line: what was wrong, for where there is no room for the block.
std::string red_line(const contracts::CaseResult& one);

}  // namespace nbx::reports
