// Calls of decode that must be refused, and calls with empty or huge tensors.
#pragma once

#include <vector>

#include "contracts/families/family.hpp"

namespace nbx::contracts {

std::vector<Refusal> decode_refusals(DLDataType format, std::uint64_t seed);
std::vector<Edge> decode_edges(DLDataType format, std::uint64_t seed);

}  // namespace nbx::contracts
