#include "reports/diff/code.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "contracts/pattern.hpp"

namespace nbx::reports::diff {
namespace {

using contracts::codegen::Code;
using contracts::codegen::FunctionDifference;

using Compilations = std::map<std::pair<std::string, std::string>, const Code*>;

Compilations selected(const contracts::codegen::Record& record, const std::vector<std::string>& patterns,
                      const std::vector<std::string>& architectures) {
  Compilations out;
  for (const auto& [kernel, codes] : record.kernels) {
    if (!contracts::selects_case(patterns, kernel, "gate5.code", "")) continue;
    for (const auto& [architecture, code] : codes) {
      const bool wanted = architectures.empty() ||
                          std::find(architectures.begin(), architectures.end(), architecture) != architectures.end();
      if (wanted) out[{kernel, architecture}] = &code;
    }
  }
  return out;
}

std::string said(const std::pair<std::string, std::string>& one) {
  return fmt::format("{} for {}", one.first, one.second);
}

}  // namespace

bool KernelCode::resources_differ() const {
  return std::any_of(difference.functions.begin(), difference.functions.end(),
                     [](const FunctionDifference& one) { return one.resources_differ(); });
}

CodeDiff compare_code(const contracts::codegen::Record& first, const contracts::codegen::Record& second,
                      const std::vector<std::string>& patterns, const std::vector<std::string>& architectures) {
  CodeDiff out;
  const Compilations ours = selected(first, patterns, architectures),
                     theirs = selected(second, patterns, architectures);
  std::set<std::string> kernels;
  for (const auto& [key, code] : ours) {
    const auto at = theirs.find(key);
    if (at == theirs.end()) {
      out.gone.push_back(said(key));
      continue;
    }
    ++out.compilations;
    kernels.insert(key.first);
    KernelCode one{key.first, key.second, contracts::codegen::difference(*code, *at->second), {}};
    if (!one.difference.functions.empty()) out.differing.push_back(std::move(one));
  }
  for (const auto& [key, code] : theirs) {
    if (ours.count(key) == 0) out.added.push_back(said(key));
  }
  out.kernels = kernels.size();
  return out;
}

}  // namespace nbx::reports::diff
