#include "contracts/families/score_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace nbx::contracts {

std::vector<std::pair<std::string, std::string>> score_lines(const std::vector<double>& scores) {
  std::vector<std::pair<double, std::int64_t>> visible;
  std::int64_t hidden = 0;
  for (std::size_t j = 0; j < scores.size(); ++j) {
    if (std::isnan(scores[j]))
      ++hidden;  // or a NaN of the data
    else
      visible.emplace_back(scores[j], static_cast<std::int64_t>(j));
  }
  std::sort(visible.rbegin(), visible.rend());
  double mass = 0;
  for (const auto& [s, j] : visible) mass += std::exp(s - visible[0].first);
  std::string top;
  for (std::size_t i = 0; i < std::min<std::size_t>(visible.size(), 6); ++i)
    top += fmt::format("{}key {}: {:.6g} (weight {:.3g})", i ? ", " : "", visible[i].second, visible[i].first,
                       std::exp(visible[i].first - visible[0].first) / mass);
  std::vector<std::pair<std::string, std::string>> lines;
  lines.emplace_back("scores", fmt::format("{} keys with a number, {} hidden or NaN", visible.size(), hidden));
  if (!visible.empty()) {
    lines.emplace_back("largest", top);
    lines.emplace_back("smallest", fmt::format("key {}: {:.6g}", visible.back().second, visible.back().first));
  }
  return lines;
}

}  // namespace nbx::contracts
