// Other ways of asking for the same attention: rows alone, sequences alone, other layouts, padding, expanded KV heads.
#pragma once

#include <string_view>
#include <vector>

#include "contracts/families/attention_inputs.hpp"
#include "contracts/families/family.hpp"

namespace nbx::contracts {

struct AttentionAsk {
  const AttentionProblem& problem;
  const Call& call;  // the plain one
  bool full = false;
};

std::vector<Way> attention_ways(const AttentionAsk& ask, std::string_view clause);

}  // namespace nbx::contracts
