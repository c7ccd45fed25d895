// Other ways of asking for the same decode: sequences alone, other layouts, larger caches, expanded KV heads, a query
// that was cast beforehand.
#pragma once

#include <string_view>
#include <vector>

#include "contracts/families/decode_inputs.hpp"
#include "contracts/families/family.hpp"

namespace nbx::contracts {

std::vector<Way> decode_ways(const DecodeProblem& problem, const DecodeData& data, const Call& call, bool full,
                             std::string_view clause);

}  // namespace nbx::contracts
