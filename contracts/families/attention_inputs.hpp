// The inputs of an attention problem: exact bit patterns from the seed.
#pragma once

#include <optional>
#include <string>

#include "contracts/dense.hpp"
#include "contracts/families/attention_problems.hpp"
#include "contracts/formats.hpp"

namespace nbx::contracts {

struct AttentionData {
  DLDataType format{};
  Shape q_shape, k_shape, v_shape;
  SharedBytes q, k, v;
  std::optional<Shape> bias_shape;  // as the call has it: rank 2, 3 or 4
  DLDataType bias_format{};
  SharedBytes bias;
  SharedBytes q_scale, k_scale, v_scale;  // f32 [B, H] and [B, Hk], of operands in e4m3 alone

  bool scaled() const { return q_scale != nullptr; }
  DLDataType output_format() const { return scaled() ? bf16_type : format; }
};

const char* causal_text(oracle::Causal causal);
const char* kind_name(AttentionKind kind);
const char* plant_name(Plant plant);
/// "B=1,H=4,Hk=2,Tq=130,Tk=257,D=64,causal=top_left,sink".
std::string problem_name(const AttentionProblem& problem);
/// Operands in e4m3 come with scales, and a bias in f32.
AttentionData make_attention_data(const AttentionProblem& problem, DLDataType format, std::uint64_t seed);

/// The plain call: dense tensors, every output, no kernel yet.
Call attention_call(const AttentionProblem& problem, const AttentionData& data);

}  // namespace nbx::contracts
