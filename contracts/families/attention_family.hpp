#pragma once

#include "contracts/families/attention_inputs.hpp"
#include "contracts/families/family.hpp"

namespace nbx::contracts {

const Family& attention_family();
/// Operands in e4m3 with a scale for each head of q, k and v; o in bf16.
const Family& attention_scaled_family();

/// A problem of attention with these inputs. `problem` must outlive it.
std::unique_ptr<Instance> make_attention(const AttentionProblem& problem, AttentionData data);

}  // namespace nbx::contracts
