// What an element of q, k or v is, kind by kind, before a plant and before it is rounded to its format.
#pragma once

#include "contracts/families/attention_problems.hpp"
#include "contracts/random.hpp"
#include "oracle/format.hpp"

namespace nbx::contracts {

/// Component d of query i.
double query_element(const AttentionProblem& p, oracle::Format format, std::int64_t i, std::int64_t d, Random& random);

/// Component d of key j; `special` is a key drawn from the seed.
double key_element(const AttentionProblem& p, oracle::Format format, std::int64_t j, std::int64_t d,
                   std::int64_t special, Random& random);

/// Component d of value j.
double value_element(const AttentionProblem& p, oracle::Format format, std::int64_t j, std::int64_t d, Random& random);

}  // namespace nbx::contracts
