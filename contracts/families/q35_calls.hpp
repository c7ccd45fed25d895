// Other ways of asking for the same rows, calls that must be refused, and calls of very many rows.
#pragma once

#include <string_view>
#include <vector>

#include "contracts/families/family.hpp"
#include "contracts/families/q35_inputs.hpp"

namespace nbx::contracts {

std::vector<Way> q35_ways(const Q35Data& data, const Call& call, bool full, std::string_view clause);
std::vector<Refusal> q35_refusals(DLDataType cache, std::uint64_t seed);
std::vector<Edge> q35_edges(DLDataType cache, std::uint64_t seed);

}  // namespace nbx::contracts
