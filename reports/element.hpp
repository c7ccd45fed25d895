// The first differing element of two outputs, as text and as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "contracts/two_packs.hpp"
#include "reports/field_lines.hpp"

namespace nbx::reports {

/// Values of both sides, how far apart, and the bound. The sides are called `good` and `bad` in the fields.
void tell_element(FieldLines& lines, const contracts::PackDifference& found, const std::string& good,
                  const std::string& bad);

/// The sides stand under these names too.
nlohmann::json element_json(const contracts::PackDifference& found, const std::string& problem, const std::string& good,
                            const std::string& bad);

}  // namespace nbx::reports
