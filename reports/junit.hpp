// The JUnit report, as CI systems read it.
#pragma once

#include <string>
#include <string_view>

#include "reports/report.hpp"

namespace nbx::reports {

/// One suite per kernel, then controls, power and the rest. Declined, pending and stale cases are <skipped> with their
/// reason. Well-formed for any bytes in names and messages.
std::string to_junit(const Report& report);

/// Text for an attribute or an element of XML 1.0: escaped, and what XML cannot hold replaced by U+FFFD.
std::string xml_text(std::string_view text);

}  // namespace nbx::reports
