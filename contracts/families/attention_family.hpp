#pragma once

#include "contracts/families/attention_inputs.hpp"
#include "contracts/families/family.hpp"

namespace nbx::contracts {

const Family& attention_family();

/// A problem of attention with these inputs. `problem` must outlive it.
std::unique_ptr<Instance> make_attention(const AttentionProblem& problem, AttentionData data);

}  // namespace nbx::contracts
