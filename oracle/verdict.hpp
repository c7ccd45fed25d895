// How an actual value is judged against a ball and a bound.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "oracle/reference.hpp"

namespace nbx::oracle {

/// The verdict on one output. Mergeable and constant in size but for `wrong`.
struct Judgement {
  std::int64_t elements = 0;
  std::vector<std::int64_t> wrong;  // flat indices of the red elements, rising
  std::int64_t worst = -1;          // the element with the largest |error| / bound, red ones first (a wrong class is
                                    // worse than any finite error)
  double worst_share = 0;           // its |actual - value| / bound; +inf for a wrong class, and for an error where the
                                    // bound is 0
  std::int64_t overflow_open = 0;
  std::array<std::int64_t, 5> escalations{};  // decided at: double, double-double, 113, 256, more bits
  bool undecided = false;                     // past 4,096 bits: an error of the harness, never a pass

  /// Holds only if something was judged, nothing is wrong and nothing is undecided.
  bool holds() const { return elements > 0 && wrong.empty() && !undecided; }
};

/// Judges every element of `actual` (dense bytes in `format`, as many as the output has).
/// An element holds if its class is accepted and, where finite, |actual - value| + radius <= bound; it is red if
/// |actual - value| - radius > bound; else the row is refined until one of both is so. NaN satisfies neither inequality
/// and is never finite. A size that does not match the output's is red as a whole (elements stays 0).
/// Both inequalities are decided exactly: a radius of 0 decides even where |actual - value| is the bound itself.
/// Throws std::invalid_argument where `bounds` is not of the output's size.
Judgement judge(const Evaluation::Output& output, const Bounds& bounds, std::span<const std::byte> actual,
                Format format, const Refine& refine, std::size_t output_index);

}  // namespace nbx::oracle
