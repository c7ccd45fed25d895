// Wrong references: what a kernel with a given fault and otherwise exact arithmetic would return. Gate 1's power clause
// holds each against the honest bounds on the same inputs; a mutant that fits them shows that the inputs cannot see.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "oracle/reference.hpp"

namespace nbx::oracle {

enum class Mutant : std::uint8_t {
  drop_last_key,
  extra_zero_key,
  drop_tile,
  scale_missing,
  scale_twice,
  half_head_dim,
  no_rescale,
  unweighted_split_merge,
  swapped_key_tiles,
  stale_value_row,
  wrong_gqa_head,
  zero_row,
  ignore_query_and_key,
  lse_without_max,
};

/// "drop_last_key" and so on.
std::string_view name(Mutant mutant);
std::span<const Mutant> all_mutants();

/// What multiplies the scores and the values of each KV head beside all else: the scales of fp8 caches. Empty: 1.
struct HeadScales {
  std::vector<float> key{}, value{};
  double of_key(std::int64_t head) const { return of(key, head); }
  double of_value(std::int64_t head) const { return of(value, head); }

 private:
  static double of(const std::vector<float>& scales, std::int64_t head) {
    return scales.empty() ? 1 : static_cast<double>(scales[static_cast<std::size_t>(head)]);
  }
};

/// Outputs of the mutant, in Evaluation's order; empty where the mutant does not apply (a single key tile to swap, H =
/// 1 for the wrong head, ...). `position` draws the tile, row, split or head that the fault sits in.
std::vector<std::vector<double>> mutate(const AttentionInput& input, Mutant mutant, std::uint64_t position,
                                        const HeadScales& scales = {});
std::vector<std::vector<double>> mutate(const SoftmaxInput& input, Mutant mutant, std::uint64_t position);

/// The largest |mutant - value| / (bound + radius) over the elements that are finite and not overflow-open; +inf where
/// the mutant is not finite and the honest answer is.
double visibility(const Evaluation::Output& output, const Bounds& bounds, std::span<const double> mutant);

}  // namespace nbx::oracle
