// The inputs of a decode problem.
#pragma once

#include "contracts/families/attention_inputs.hpp"
#include "contracts/families/decode_problems.hpp"

namespace nbx::contracts {

struct DecodeData {
  AttentionData attention;  // q in attention.format: what is computed with
  SharedBytes given_q;      // q as the call has it, in q_format
  DLDataType q_format{};
  std::vector<std::int64_t> lengths;  // per sequence; empty: no tensor
  SharedBytes lengths_bytes;          // int32 [B]
};

DecodeData make_decode_data(const DecodeProblem& problem, DLDataType format, std::uint64_t seed);

/// The exact inputs of the definition. Views point into `data`.
oracle::AttentionInput decode_input(const DecodeProblem& problem, const DecodeData& data);

/// Of each sequence of `lengths` the second half becomes the first with its values negated, so that O is 0 but for what
/// rounding leaves of values up to thousands.
void take_back_halves(const AttentionProblem& problem, std::span<const std::int64_t> lengths, AttentionData& data);

SharedBytes int32_bytes(std::span<const std::int64_t> values);

}  // namespace nbx::contracts
