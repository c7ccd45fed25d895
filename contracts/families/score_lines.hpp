// What `explain` tells of the scores behind an element of attention.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace nbx::contracts {

/// `scores` of one row, NaN at hidden positions.
std::vector<std::pair<std::string, std::string>> score_lines(const std::vector<double>& scores);

}  // namespace nbx::contracts
