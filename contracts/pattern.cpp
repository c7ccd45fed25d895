#include "contracts/pattern.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace nbx::contracts {

bool glob(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, t = 0, star = std::string_view::npos, retry = 0;
  while (t < text.size()) {
    if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t]) && pattern[p] != '*') {
      ++p;
      ++t;
    } else if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      retry = t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++retry;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

bool selects(std::string_view pattern, std::string_view name) {
  if (glob(pattern, name)) return true;
  return name.size() > pattern.size() && name[pattern.size()] == '.' && name.substr(0, pattern.size()) == pattern;
}

bool selects_case(const std::vector<std::string>& patterns, std::string_view kernel, std::string_view clause,
                  std::string_view problem) {
  if (patterns.empty()) return true;
  return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
    if (pattern.find_first_of("/(") == std::string::npos) return selects(pattern, kernel) || selects(pattern, clause);
    const std::string whole = fmt::format("{}/{}({})", kernel, clause, problem);
    return pattern == whole || glob(pattern, whole) || glob(pattern + "(*", whole);
  });
}

std::vector<std::string> nearest_names(std::string_view pattern, std::vector<std::string> names, std::size_t most) {
  const auto distance = [&](std::string_view name) {  // Levenshtein's, cheaper at the end of the longer name
    std::vector<int> row(name.size() + 1);
    std::iota(row.begin(), row.end(), 0);
    for (std::size_t i = 1; i <= pattern.size(); ++i) {
      int diagonal = row[0];
      row[0] = static_cast<int>(i) * 4;
      for (std::size_t j = 1; j <= name.size(); ++j) {
        const int change = diagonal + (pattern[i - 1] == name[j - 1] ? 0 : 4);
        diagonal = row[j];
        row[j] = std::min({change, row[j] + 4, row[j - 1] + (i == pattern.size() ? 1 : 4)});
      }
    }
    return row.back();
  };
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::stable_sort(names.begin(), names.end(),
                   [&](const std::string& a, const std::string& b) { return distance(a) < distance(b); });
  if (names.size() > most) names.resize(most);
  return names;
}

}  // namespace nbx::contracts
