// Other ways of asking for the same paged decode: sequences alone, other pages, other layouts.
#pragma once

#include <string_view>
#include <vector>

#include "contracts/families/family.hpp"
#include "contracts/families/paged_inputs.hpp"

namespace nbx::contracts {

std::vector<Way> paged_ways(const PagedProblem& problem, const PagedData& data, const Call& call,
                            std::string_view clause);

}  // namespace nbx::contracts
