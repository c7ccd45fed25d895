#include "contracts/codegen/difference.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace nbx::contracts::codegen {

bool CodeDifference::code_differs() const {
  return std::any_of(functions.begin(), functions.end(), [](const FunctionDifference& one) {
    return one.code || one.kind != FunctionDifference::Kind::changed;
  });
}

CodeDifference difference(const Code& before, const Code& after) {
  CodeDifference out;
  out.ptx = before.ptx != after.ptx;
  for (const auto& [name, was] : before.functions) {
    FunctionDifference one;
    one.function = name;
    one.code_before = was.code;
    const auto at = after.functions.find(name);
    if (at == after.functions.end()) {
      one.kind = FunctionDifference::Kind::gone;
      out.functions.push_back(std::move(one));
      continue;
    }
    const Function& is = at->second;
    one.code_after = is.code;
    one.machine_code_before = was.machine_code;
    one.machine_code_after = is.machine_code;
    one.code = was.machine_code != is.machine_code;
    const auto values = resources(was), now = resources(is);
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (values[i].second != now[i].second)
        one.resources.push_back({values[i].first, values[i].second, now[i].second});
    }
    if (one.code || !one.resources.empty()) out.functions.push_back(std::move(one));
  }
  for (const auto& [name, is] : after.functions) {
    if (before.functions.count(name) != 0) continue;
    FunctionDifference one;
    one.function = name;
    one.kind = FunctionDifference::Kind::added;
    one.code_after = is.code;
    out.functions.push_back(std::move(one));
  }
  return out;
}

std::string resources_text(const FunctionDifference& difference) {
  std::string text;
  for (const FunctionDifference::Resource& one : difference.resources) {
    text += fmt::format("{}{} {} -> {}", text.empty() ? "" : ", ", one.name, one.before, one.after);
  }
  return text;
}

}  // namespace nbx::contracts::codegen
