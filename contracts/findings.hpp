// Known findings: faults that a shipped kernel has, that are registered and not mended.
#pragma once

#include <span>
#include <string_view>

namespace nbx::contracts {

struct Finding {
  std::string_view id;
  std::string_view kernel;  // pattern
  std::string_view clause;
  std::string_view problem;  // whose input holds the plant
  std::string_view without;  // the same problem without the plant: must be green
  std::string_view reason;
};

std::span<const Finding> findings();
const Finding* finding_for(std::string_view kernel, std::string_view clause, std::string_view problem);

}  // namespace nbx::contracts
