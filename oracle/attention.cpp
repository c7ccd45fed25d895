// The certified attention reference: blocks of rows, element by element into values, radii, classes and bounds.
#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "oracle/attention_block.hpp"
#include "oracle/attention_elements.hpp"
#include "oracle/output.hpp"
#include "oracle/reference.hpp"

namespace nbx::oracle {
namespace {

// A block's scores, weights and coefficients should fit a second-level cache, yet be high enough for matrix products.
std::int64_t block_height(std::int64_t keys) {
  return std::clamp<std::int64_t>((std::int64_t{1} << 18) / std::max<std::int64_t>(keys, 1), 16, 128);
}

}  // namespace

Evaluation evaluate(const AttentionInput& input, std::span<const Arithmetic> arithmetics) {
  const AttentionShape shape(input);
  for (const Arithmetic& a : arithmetics) {
    if (a.masked_value != arithmetics.front().masked_value) {
      throw std::invalid_argument("arithmetics of one evaluation differ in masked_value");
    }
    if ((a.log2_at == Arithmetic::Log2At::direct) != input.base_two) {
      throw std::invalid_argument("scores are exponents of two for all, the definition and its kernels, or for none");
    }
  }
  const bool propagates =
      !arithmetics.empty() && arithmetics.front().masked_value == Arithmetic::MaskedValue::propagates;
  Evaluation result;
  result.outputs.push_back(make_output("o", {shape.B, shape.H, shape.Tq, shape.Dv}, arithmetics.size()));
  result.outputs.push_back(make_output("lse", {shape.B, shape.H, shape.Tq}, arithmetics.size()));
  const std::int64_t height = std::min(block_height(shape.Tk), std::max<std::int64_t>(1, shape.group * shape.Tq));
  AttentionBlock block(shape, arithmetics.size() + 1, height);
  for (std::int64_t b = 0; b < shape.B; ++b) {
    for (std::int64_t h = 0; h < shape.Hk; ++h) {
      const AttentionHead head(shape, b, h, arithmetics);
      for (std::int64_t first = 0; first < head.rows(); first += height) {
        block.compute(head, first, std::min(height, head.rows() - first));
        for (std::int64_t r = 0; r < block.count; ++r) {
          write_row(block, r, propagates, head.first_row() + first + r, result.outputs[0], result.outputs[1]);
        }
      }
    }
  }
  return result;
}

std::vector<double> scores_of_row(const AttentionInput& input, std::int64_t row) {
  const AttentionShape shape(input);
  const std::int64_t i = row % shape.Tq, h = row / shape.Tq % shape.H, b = row / (shape.Tq * shape.H);
  std::vector<double> scores(shape.Tk, std::numeric_limits<double>::quiet_NaN());
  const std::int64_t n = shape.visible(b, i);
  std::vector<double> q(shape.D), k(shape.D), bias(n, 0.0);
  input.q.read(row * shape.D, q);
  if (input.bias) shape.read_bias(b, h, i, bias);
  for (std::int64_t j = 0; j < n; ++j) {
    input.k.read(((b * shape.Hk + h / shape.group) * shape.Tk + j) * shape.D, k);
    double dot = 0;
    for (std::int64_t d = 0; d < shape.D; ++d) dot += q[d] * k[d];
    // A bias of -inf gives weight 0 whatever the score.
    scores[j] = bias[j] == -std::numeric_limits<double>::infinity() ? bias[j] : dot * shape.scale + bias[j];
  }
  return scores;
}

}  // namespace nbx::oracle
