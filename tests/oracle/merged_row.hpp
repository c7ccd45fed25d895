// One row of attention over key ranges that are merged by LSE, in fp32 as an Arithmetic declares it: a fixed shift or
// the running maximum for each range. It shares nothing with kernels/.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "oracle/reference.hpp"
#include "problems.hpp"

namespace nbx::oracle::testing {

/// Keys [first, first + count) of a row, and what they subtract; nothing: their largest score.
struct KeyRange {
  std::size_t first = 0, count = 0;
  std::optional<float> shift;
};

/// q [1, 1, 1, D], k [1, 1, n, D], v [1, 1, n, 1], exponents of two.
struct MergedRow {
  Attention tensors;
  std::vector<KeyRange> ranges;

  /// D = 1, q = 1: the scores are k, exactly.
  static MergedRow of(const std::vector<float>& scores, const std::vector<float>& values, std::vector<KeyRange> ranges);
  /// Names the largest shift, as a ring does.
  AttentionInput input() const;
};

/// To nearest; exp2 and log2 err by up to what `arithmetic` grants, either way.
double merged_to_nearest(const MergedRow& row, const Arithmetic& arithmetic, std::mt19937_64& random);
/// Every operation errs by all that `arithmetic` grants, each in the direction that raises o. Products of q·k and p·v
/// are exact; `right`: o, exactly.
double merged_as_high_as_possible(const MergedRow& row, const Arithmetic& arithmetic, double right);

}  // namespace nbx::oracle::testing
