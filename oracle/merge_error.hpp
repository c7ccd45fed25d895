// What merging the results of key ranges by LSE adds to a row's errors, term by term.
#pragma once

#include <cstdint>

#include "oracle/arithmetic.hpp"

namespace nbx::oracle {

struct ErrorModel;

/// Results of key ranges, each divided by its own sum, merged one after the other by L = m + log2 l:
///   M = max(A, L), w = exp2(A - M), w' = exp2(L - M), o = (o w + o' w') / (w + w'), A = M + log2(w + w').
/// |L| and |A| on key j's way are at most X = |max| + x_j + ln n. L costs u X; a merge the rounding of A, u X, and of
/// two differences, 2 u X, with one more u X for their second order: (4 merges + 1) u X.
struct MergeError {
  // The share of X in |max|, the row's maximum; in x_j, a key's distance from it; and, whole, in ln n.
  double at_maximum = 0, at_distance = 0, of_keys = 0;
  // The rest of an exponent's error. log_ulp acts on |log2 l| < 127 of a range and on log2(w + w') <= 1 of each merge.
  double of_logarithms = 0;
  // Ranges may have fixed shifts of their own, of which the problem names the largest: each keeps its exponents z - m
  // within [-125, 127] (the window of fixed-m), so their rounding is u · 128 however far the shifts lie apart.
  double of_window = 0;
  // Relative, of a weight's way and of the sum: two exp2 a merge, and 8 roundings of products, sums and quotients.
  double of_exponentials = 0, of_roundings = 0;
  // Of o: four products or quotients a merge that underflow.
  double of_underflow = 0;
  // Some ranges have a fixed shift, others follow their maximum.
  bool mixed = false;
};

/// For `keys` keys in all; all 0 without merges.
MergeError merge_error(const Arithmetic& arithmetic, std::int64_t keys);

/// To a model that has its weights, and not yet what P·V makes of them.
void add_merges(const MergeError& merges, ErrorModel& model);

}  // namespace nbx::oracle
