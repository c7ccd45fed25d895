// What a bisect found, for people and for programs.
#pragma once

#include <string>

#include "reports/bisect/bisect.hpp"

namespace nbx::reports::bisect {

/// The whole report, lines at most `width` wide where they can be broken.
std::string text(const Result& result, const Settings& settings, std::size_t width);
std::string json_text(const Result& result, const Settings& settings);

}  // namespace nbx::reports::bisect
