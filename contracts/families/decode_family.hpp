#pragma once

#include "contracts/families/decode_inputs.hpp"
#include "contracts/families/family.hpp"

namespace nbx::contracts {

/// q [B, H, 1, D], k [B, Hk, Tk, D], v [B, Hk, Tk, Dv], optional bias along keys, optional seq_lens [B]; o [B, H, 1,
/// Dv], lse [B, H, 1].
const Family& decode_family();
/// The plain call of a problem.
Call decode_call(const DecodeProblem& problem, const DecodeData& data);

}  // namespace nbx::contracts
