// Calls of attention that must be refused, and calls with empty or huge tensors.
#pragma once

#include <vector>

#include "contracts/families/family.hpp"

namespace nbx::contracts {

std::vector<Refusal> attention_refusals(DLDataType format, std::uint64_t seed);
std::vector<Edge> attention_edges(DLDataType format, std::uint64_t seed);

}  // namespace nbx::contracts
