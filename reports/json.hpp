// The JSON report, in the shape of CTRF (https://ctrf.io). What CTRF has no place for stands in `extra`: of each case
// its bounds and worst element, of the run its kernels, controls, findings, power and packs. A report reads back whole.
#pragma once

#include <string>
#include <string_view>

#include "reports/report.hpp"

namespace nbx::reports {

std::string to_json(const Report& report);

/// The inverse. Throws std::runtime_error with the reason where `text` is no report of this command and version of the
/// format.
Report from_json(std::string_view text);

}  // namespace nbx::reports
