// A red case as text: everything that the runner found out about it, and the command that repeats it.
#pragma once

#include <string>

#include "contracts/result.hpp"
#include "reports/paint.hpp"

namespace nbx::reports {

/// Labels and text in two columns, one line each, indented by two.
std::string labelled(const std::vector<std::pair<std::string, std::string>>& lines);

/// The block of one case that carries a Red: a heading, the case, its lines, the command. Ends with a line feed.
std::string red_text(const contracts::CaseResult& one, const Paint& paint);

/// One line: what was wrong, for where there is no room for the block.
std::string red_line(const contracts::CaseResult& one);

}  // namespace nbx::reports
