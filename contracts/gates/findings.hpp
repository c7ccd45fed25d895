// Known findings: faults that a shipped kernel has, that are registered and not mended.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace nbx::contracts {

struct Finding {
  std::string_view id;
  std::string_view kernel;      // pattern
  std::string_view clauses[2];  // at which it shows; the second may be empty
  std::string_view plant;       // of the problems whose input shows it: those that end in ",plant=..."
  std::string_view reason;
  std::string_view problems = "*";  // pattern: of those, the ones that show it
};

std::span<const Finding> findings();
/// The one of `table` that a case is registered by; null where none is.
const Finding* finding_for(std::span<const Finding> table, std::string_view kernel, std::string_view clause,
                           std::string_view problem);

/// The same problem without its plant, which must be green where a finding shows; empty where it has none.
std::string without_plant(std::string_view problem);

}  // namespace nbx::contracts
