// What a diff found, as text and as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "reports/diff/bits.hpp"
#include "reports/diff/code.hpp"

namespace nbx::reports::diff {

struct Result {
  std::string first, second;  // what was compared, in words
  std::optional<BitsDiff> bits;
  std::optional<CodeDiff> code;
  std::vector<std::string> failed;  // what could not be built or run
  bool differs() const { return (bits && bits->differs()) || (code && code->differs()); }
  bool nothing() const { return (!bits || bits->cases == 0) && (!code || code->compilations == 0); }
};

/// `width` columns at most where words allow. The last line starts with DIFF.
std::string text(const Result& result, std::size_t width);
std::string json_text(const Result& result);

}  // namespace nbx::reports::diff
