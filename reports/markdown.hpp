// The Markdown report, for a CI system's page of a run.
#pragma once

#include <cstddef>
#include <string>

#include "reports/report.hpp"

namespace nbx::reports {

/// GitHub refuses step summaries over 1 MiB.
constexpr std::size_t markdown_limit = std::size_t{1} << 20;

/// The last line of the summary, the kernels, each failure. Smaller than `limit` bytes: what does not fit is left out
/// from the end, and a last line says how much that was. `limit` is at least 4,096.
std::string to_markdown(const Report& report, std::size_t limit = markdown_limit);

}  // namespace nbx::reports
