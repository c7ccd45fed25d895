// Calls of paged decode that must be refused, and calls with empty or huge tensors.
#pragma once

#include <vector>

#include "contracts/families/family.hpp"

namespace nbx::contracts {

std::vector<Refusal> paged_refusals(DLDataType format, std::uint64_t seed);
std::vector<Edge> paged_edges(DLDataType format, std::uint64_t seed);

}  // namespace nbx::contracts
